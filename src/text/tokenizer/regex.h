#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/tokenizer/prompt.h"

namespace kvasir::text {

// A compiled Unicode regular expression in the syntax of tokenizer files. Immutable and thread-safe.
class Regex {
 public:
  static base::Result<Regex> compile(const std::string& pattern);

  // Finds the matches in one text from left to right. Used by one thread.
  class Search {
   public:
    // `text` is valid UTF-8. `text` and `regex` outlive the search.
    Search(const Regex& regex, std::string_view text);
    // Returns the next match that is not empty. A match that exceeds the engine's limits ends the search: the
    // rest of the text counts as unmatched.
    std::optional<Range> next();

   private:
    std::string_view text_;
    const void* code_;
    std::shared_ptr<void> match_;
    std::size_t at_ = 0;
  };

 private:
  explicit Regex(std::shared_ptr<const void> code) : code_(std::move(code)) {}

  std::shared_ptr<const void> code_;
};

}  // namespace kvasir::text

#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

namespace kvasir::router {

// System prompts that the operator has marked as public, and the tokens that one model makes of each. Only
// the tokens of a text's latest rendering are kept, since a template may write the date into it. Thread-safe.
class PublicPrompts {
 public:
  using Tokens = std::shared_ptr<const std::vector<TokenId>>;

  explicit PublicPrompts(std::vector<std::string> texts);

  // The longest text that `system` begins with; null: none.
  const std::string* find(std::string_view system) const;

  // The tokens kept for this rendering of one of the texts; null: none.
  Tokens tokens_of(const std::string& text, std::string_view rendered) const;
  void keep(const std::string& text, std::string rendered, Tokens tokens);

 private:
  struct Kept {
    std::string rendered;
    Tokens tokens;
  };

  const std::vector<std::string> texts_;  // the longest first, none empty
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Kept> kept_;  // by text; guarded by mutex_
};

}  // namespace kvasir::router

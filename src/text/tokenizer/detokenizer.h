#pragma once

#include <memory>
#include <string>

#include "base/ids.h"
#include "base/utf8.h"
#include "text/tokenizer/tokenizer.h"

namespace kvasir::text {

// Turns tokens into text as they arrive, in complete UTF-8 characters. The joined pieces of one stream equal
// the result of Tokenizer::decode for all its tokens. Used for one stream by one thread.
class Detokenizer {
 public:
  explicit Detokenizer(std::shared_ptr<const Tokenizer> tokenizer,
                       SpecialOutput specials = SpecialOutput::skip);

  // Adds a token. Returns the text that became certain; this is often empty while a character is incomplete.
  // Requires `tokenizer->valid(id)`.
  std::string push(TokenId id);
  // Ends the stream and returns the rest. An incomplete character becomes U+FFFD.
  std::string flush();

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  SpecialOutput specials_;
  bool first_ = true;
  int spaces_to_strip_;
  base::Utf8Repair repair_;
};

}  // namespace kvasir::text

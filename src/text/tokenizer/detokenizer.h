#pragma once

#include <memory>
#include <string>

#include "base/ids.h"
#include "base/utf8.h"
#include "text/tokenizer/tokenizer.h"

namespace kvasir::text {

// Tokens to text as they arrive, in whole UTF-8 characters: the pieces of one stream, joined, are what
// Tokenizer::decode makes of all its tokens at once. One stream, one thread.
class Detokenizer {
 public:
  explicit Detokenizer(std::shared_ptr<const Tokenizer> tokenizer,
                       SpecialOutput specials = SpecialOutput::skip);

  // The text that became certain; often empty while a character is incomplete. `tokenizer->valid(id)`.
  std::string push(TokenId id);
  // What is left at the end of the stream: a cut-off character as U+FFFD.
  std::string flush();

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  SpecialOutput specials_;
  bool first_ = true;
  int spaces_to_strip_;
  base::Utf8Repair repair_;
};

}  // namespace kvasir::text

#include "text/detokenizer.h"

#include <utility>

namespace kvasir::text {

Detokenizer::Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, SpecialOutput specials)
    : tokenizer_(std::move(tokenizer)),
      specials_(specials),
      strip_space_(tokenizer_->strips_leading_space()) {}

std::string Detokenizer::push(TokenId id) {
  if (specials_ == SpecialOutput::skip && tokenizer_->is_special(id)) return {};
  std::string_view bytes = tokenizer_->bytes(id);
  if (strip_space_ && !bytes.empty()) {
    strip_space_ = false;
    if (bytes.front() == ' ') bytes.remove_prefix(1);
  }
  std::string piece;
  repair_.push(bytes, piece);
  return piece;
}

std::string Detokenizer::flush() {
  std::string piece;
  repair_.finish(piece);
  return piece;
}

}  // namespace kvasir::text

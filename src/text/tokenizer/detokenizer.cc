#include "text/tokenizer/detokenizer.h"

#include <utility>

namespace kvasir::text {

Detokenizer::Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, SpecialOutput specials)
    : tokenizer_(std::move(tokenizer)), specials_(specials), spaces_to_strip_(tokenizer_->leading_spaces()) {}

std::string Detokenizer::push(TokenId id) {
  if (specials_ == SpecialOutput::skip && tokenizer_->is_special(id)) return {};
  std::string first;
  std::string_view bytes = tokenizer_->bytes(id);
  if (std::exchange(first_, false)) bytes = first = tokenizer_->first_bytes(id);
  for (; spaces_to_strip_ > 0 && !bytes.empty(); --spaces_to_strip_) {
    if (bytes.front() != ' ') spaces_to_strip_ = 1;
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

#include "text/token_table.h"

#include <algorithm>

namespace kvasir::text {
namespace {

bool is_piece(TokenType type) {
  return type == TokenType::normal || type == TokenType::byte;
}

}  // namespace

void TokenTable::add(std::string_view bytes, TokenType type) {
  buffer_ += bytes;
  ends_.push_back(buffer_.size());
  types_.push_back(type);
}

void TokenTable::build_index() {
  const auto num_pieces = static_cast<std::size_t>(std::count_if(types_.begin(), types_.end(), is_piece));
  pieces_ = StringIndex(num_pieces);
  added_ = StringIndex(types_.size() - num_pieces);
  const auto bytes_of = [this](TokenId id) { return bytes(id); };
  for (TokenId id = 0; id < size(); ++id) {
    if (type(id) == TokenType::unused) continue;
    StringIndex& index = is_piece(type(id)) ? pieces_ : added_;
    index.insert(bytes(id), id, bytes_of);
  }
}

std::optional<TokenId> TokenTable::find_piece(std::string_view bytes) const {
  return pieces_.find(bytes, [this](TokenId id) { return this->bytes(id); });
}

std::optional<TokenId> TokenTable::find_added(std::string_view bytes) const {
  return added_.find(bytes, [this](TokenId id) { return this->bytes(id); });
}

}  // namespace kvasir::text

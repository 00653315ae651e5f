#include "text/token_table.h"

namespace kvasir::text {
namespace {

std::optional<TokenId> look_up(const std::unordered_map<std::string_view, TokenId>& index,
                               std::string_view bytes) {
  const auto found = index.find(bytes);
  if (found == index.end()) return std::nullopt;
  return found->second;
}

}  // namespace

void TokenTable::add(std::string_view bytes, TokenType type) {
  buffer_ += bytes;
  ends_.push_back(buffer_.size());
  types_.push_back(type);
}

void TokenTable::build_index() {
  pieces_.reserve(types_.size());
  for (TokenId id = 0; id < size(); ++id) {
    switch (type(id)) {
      case TokenType::normal:
      case TokenType::byte:
        pieces_.emplace(bytes(id), id);
        break;
      case TokenType::control:
      case TokenType::user_defined:
      case TokenType::unknown:
        added_.emplace(bytes(id), id);
        break;
      case TokenType::unused:
        break;
    }
  }
}

std::optional<TokenId> TokenTable::find_piece(std::string_view bytes) const {
  return look_up(pieces_, bytes);
}

std::optional<TokenId> TokenTable::find_added(std::string_view bytes) const {
  return look_up(added_, bytes);
}

}  // namespace kvasir::text

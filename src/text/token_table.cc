#include "text/token_table.h"

#include <algorithm>

namespace kvasir::text {
namespace {

bool is_piece(TokenType type) {
  return type == TokenType::normal;
}

bool is_added(TokenType type) {
  return type == TokenType::control || type == TokenType::user_defined || type == TokenType::unknown;
}

}  // namespace

base::Status TokenTable::add(std::string_view bytes, TokenType type) {
  if (bytes.size() > kMaxTokenBytes) {
    return base::error(base::ErrorCode::corrupt, "token {} has {} bytes; {} is the most", size(),
                       bytes.size(), kMaxTokenBytes);
  }
  max_token_bytes_ = std::max(max_token_bytes_, bytes.size());
  buffer_ += bytes;
  ends_.push_back(buffer_.size());
  types_.push_back(type);
  return base::ok();
}

void TokenTable::build_index() {
  pieces_ = StringIndex(static_cast<std::size_t>(std::count_if(types_.begin(), types_.end(), is_piece)));
  added_ = StringIndex(static_cast<std::size_t>(std::count_if(types_.begin(), types_.end(), is_added)));
  const auto bytes_of = [this](TokenId id) { return bytes(id); };
  for (TokenId id = 0; id < size(); ++id) {
    if (is_piece(type(id))) pieces_.insert(bytes(id), id, bytes_of);
    if (is_added(type(id))) added_.insert(bytes(id), id, bytes_of);
  }
}

std::optional<TokenId> TokenTable::find_piece(std::string_view bytes) const {
  return pieces_.find(bytes, [this](TokenId id) { return this->bytes(id); });
}

std::optional<TokenId> TokenTable::find_added(std::string_view bytes) const {
  return added_.find(bytes, [this](TokenId id) { return this->bytes(id); });
}

}  // namespace kvasir::text

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

void TokenTable::reserve(std::size_t num_tokens, std::size_t num_bytes) {
  spellings_.reserve(num_bytes);
  spelling_ends_.reserve(num_tokens + 1);
  types_.reserve(num_tokens);
}

base::Status TokenTable::add(const Row& row) {
  const std::size_t longest = std::max(row.bytes.size(), row.spelling.size());
  if (longest > kMaxTokenBytes) {
    return base::error(base::ErrorCode::corrupt, "token {} has {} bytes; {} is the most", size(), longest,
                       kMaxTokenBytes);
  }
  // 2^24 tokens at most, of 4096 bytes at most, would not fit their ends.
  if (spellings_.size() + bytes_.size() > (std::size_t{1} << 30))
    return base::error(base::ErrorCode::corrupt, "the vocabulary has more than a gibibyte of text");
  if (!bytes_differ_ && row.bytes != row.spelling) {
    bytes_ = spellings_;
    byte_ends_ = spelling_ends_;
    bytes_differ_ = true;
  }
  if (bytes_differ_) {
    bytes_ += row.bytes;
    byte_ends_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  }
  max_token_bytes_ = std::max(max_token_bytes_, row.bytes.size());
  spellings_ += row.spelling;
  spelling_ends_.push_back(static_cast<std::uint32_t>(spellings_.size()));
  types_.push_back(row.type);
  return base::ok();
}

void TokenTable::build_index() {
  pieces_ = StringIndex(static_cast<std::size_t>(std::count_if(types_.begin(), types_.end(), is_piece)));
  added_ = StringIndex(static_cast<std::size_t>(std::count_if(types_.begin(), types_.end(), is_added)));
  const auto text_of = [this](TokenId id) { return spelling(id); };
  for (TokenId id = 0; id < size(); ++id) {
    if (is_piece(types_[id])) pieces_.insert(spelling(id), id, text_of);
    if (is_added(types_[id])) added_.insert(spelling(id), id, text_of);
  }
}

std::optional<TokenId> TokenTable::find_piece(std::string_view spelling) const {
  return pieces_.find(spelling, [this](TokenId id) { return this->spelling(id); });
}

std::optional<TokenId> TokenTable::find_added(std::string_view spelling) const {
  return added_.find(spelling, [this](TokenId id) { return this->spelling(id); });
}

}  // namespace kvasir::text

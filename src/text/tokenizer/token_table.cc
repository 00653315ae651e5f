#include "text/tokenizer/token_table.h"

#include <algorithm>
#include <utility>

#include "text/tokenizer/byte_level.h"

namespace kvasir::text {
namespace {

using base::ErrorCode;

bool is_piece(TokenType type) {
  return type == TokenType::normal;
}

bool is_added(TokenType type) {
  return type == TokenType::control || type == TokenType::user_defined || type == TokenType::unknown;
}

// Whether `ends` cut `text` into `num_tokens` tokens.
bool cuts(std::span<const std::uint32_t> ends, std::string_view text, std::size_t num_tokens) {
  if (ends.size() != num_tokens + 1 || ends.front() != 0 || ends.back() != text.size()) return false;
  for (std::size_t i = 1; i < ends.size(); ++i) {
    if (ends[i] < ends[i - 1] || ends[i] - ends[i - 1] > TokenTable::kMaxTokenBytes) return false;
  }
  return true;
}

std::size_t longest(std::span<const std::uint32_t> ends) {
  std::size_t most = 1;
  for (std::size_t i = 1; i < ends.size(); ++i) most = std::max<std::size_t>(most, ends[i] - ends[i - 1]);
  return most;
}

}  // namespace

base::Result<std::unique_ptr<const TokenTable>> TokenTable::from_columns(const Columns& columns,
                                                                         std::shared_ptr<const void> owner) {
  const std::size_t size = columns.types.size();
  const bool has_bytes = !columns.byte_ends.empty();
  if (size == 0 || !cuts(columns.spelling_ends, columns.spellings, size) ||
      (has_bytes && !cuts(columns.byte_ends, columns.bytes, size)))
    return base::error(ErrorCode::corrupt, "the tokens of the table do not fit together");
  auto table = std::make_unique<TokenTable>();
  table->columns_ = columns;
  table->owner_ = std::move(owner);
  for (TokenId id = 0; id < table->size(); ++id) {
    const TokenType type = table->type(id);
    const bool is_known = type >= TokenType::normal && type <= TokenType::byte;
    if (!is_known || (type == TokenType::byte && !byte_of_name(table->spelling(id))))
      return base::error(ErrorCode::corrupt, "the table's token {} has no type", id);
  }
  if (!StringIndex::fits(columns.pieces, table->size()) || !StringIndex::fits(columns.added, table->size()))
    return base::error(ErrorCode::corrupt, "the table's index is none");
  table->max_token_bytes_ = longest(has_bytes ? columns.byte_ends : columns.spelling_ends);
  return std::unique_ptr<const TokenTable>(std::move(table));
}

void TokenTable::reserve(std::size_t num_tokens, std::size_t num_bytes) {
  filled_.spellings.reserve(num_bytes);
  filled_.spelling_ends.reserve(num_tokens + 1);
  filled_.types.reserve(num_tokens);
}

base::Status TokenTable::add(const Row& row) {
  Filled& table = filled_;
  const std::size_t longer = std::max(row.bytes.size(), row.spelling.size());
  if (longer > kMaxTokenBytes) {
    return base::error(ErrorCode::corrupt, "token {} has {} bytes; {} is the most", table.types.size(),
                       longer, kMaxTokenBytes);
  }
  // The largest vocabulary, 2^24 tokens of 4096 bytes, would overflow the 32-bit ends.
  if (table.spellings.size() + table.bytes.size() > (std::size_t{1} << 30))
    return base::error(ErrorCode::corrupt, "the vocabulary has more than a gibibyte of text");
  if (!table.bytes_differ && row.bytes != row.spelling) {
    table.bytes = table.spellings;
    table.byte_ends = table.spelling_ends;
    table.bytes_differ = true;
  }
  if (table.bytes_differ) {
    table.bytes += row.bytes;
    table.byte_ends.push_back(static_cast<std::uint32_t>(table.bytes.size()));
  }
  table.spellings += row.spelling;
  table.spelling_ends.push_back(static_cast<std::uint32_t>(table.spellings.size()));
  table.types.push_back(row.type);
  return base::ok();
}

void TokenTable::build_index() {
  const std::vector<TokenType>& types = filled_.types;
  columns_.spellings = filled_.spellings;
  columns_.spelling_ends = filled_.spelling_ends;
  if (filled_.bytes_differ) {
    columns_.bytes = filled_.bytes;
    columns_.byte_ends = filled_.byte_ends;
  }
  columns_.types = types;
  filled_.pieces = StringIndex(static_cast<std::size_t>(std::count_if(types.begin(), types.end(), is_piece)));
  filled_.added = StringIndex(static_cast<std::size_t>(std::count_if(types.begin(), types.end(), is_added)));
  const auto text_of = [this](TokenId id) { return spelling(id); };
  for (TokenId id = 0; id < size(); ++id) {
    if (is_piece(types[id])) filled_.pieces.insert(spelling(id), id, text_of);
    if (is_added(types[id])) filled_.added.insert(spelling(id), id, text_of);
  }
  columns_.pieces = filled_.pieces.slots();
  columns_.added = filled_.added.slots();
  max_token_bytes_ = longest(filled_.bytes_differ ? columns_.byte_ends : columns_.spelling_ends);
}

std::optional<TokenId> TokenTable::find_piece(std::string_view spelling) const {
  return StringIndex::find(columns_.pieces, spelling, [this](TokenId id) { return this->spelling(id); });
}

std::optional<TokenId> TokenTable::find_added(std::string_view spelling) const {
  return StringIndex::find(columns_.added, spelling, [this](TokenId id) { return this->spelling(id); });
}

}  // namespace kvasir::text

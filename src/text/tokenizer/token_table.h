#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/result.h"
#include "text/tokenizer/string_index.h"
#include "text/tokenizer/vocabulary.h"

namespace kvasir::text {

// The tokens of a vocabulary by id and by spelling. The model finds a token by its spelling, and in text the
// token stands for its bytes. The two differ, for example, if spaces are spelled with a mark. Filled once,
// then immutable.
class TokenTable {
 public:
  // The limit is far above any real token. Finding the pairs that make a token takes quadratic time in its
  // length.
  static constexpr std::size_t kMaxTokenBytes = 4096;

  struct Row {
    std::string_view spelling;
    std::string_view bytes;
    TokenType type = TokenType::normal;
  };
  // The contents of the table as they are stored in memory and in a tokenizer's image.
  struct Columns {
    std::string_view spellings;
    std::span<const std::uint32_t> spelling_ends;  // [size + 1]
    std::string_view bytes;                        // empty if equal to the spellings
    std::span<const std::uint32_t> byte_ends;      // [size + 1], or empty
    std::span<const TokenType> types;
    std::span<const StringIndex::Slot> pieces;
    std::span<const StringIndex::Slot> added;
  };

  TokenTable() = default;
  TokenTable(const TokenTable&) = delete;
  TokenTable& operator=(const TokenTable&) = delete;

  // Makes a table that is already filled. `owner` keeps the memory of `columns` alive. Fails with `corrupt`
  // if they are not a valid table.
  static base::Result<std::unique_ptr<const TokenTable>> from_columns(const Columns& columns,
                                                                      std::shared_ptr<const void> owner);

  void reserve(std::size_t num_tokens, std::size_t num_bytes);
  // Adds a token. Ids count up from 0. Fails with `corrupt` if the token is too long.
  base::Status add(const Row& row);
  // Builds the indices. Call this after the last add() and before any other function. If two tokens have
  // equal spellings, the first one is found.
  void build_index();

  const Columns& columns() const { return columns_; }
  // The size of the longest token; at least 1.
  std::size_t max_token_bytes() const { return max_token_bytes_; }
  int size() const { return static_cast<int>(columns_.types.size()); }
  std::string_view spelling(TokenId id) const { return view(columns_.spellings, columns_.spelling_ends, id); }
  std::string_view bytes(TokenId id) const {
    return columns_.byte_ends.empty() ? spelling(id) : view(columns_.bytes, columns_.byte_ends, id);
  }
  TokenType type(TokenId id) const {
    CHECK(id >= 0 && id < size(), "token {} of {}", id, size());
    return columns_.types[id];
  }
  bool is_special(TokenId id) const {
    const TokenType kind = type(id);
    return kind == TokenType::control || kind == TokenType::unknown || kind == TokenType::unused;
  }
  // Finds a normal token by its spelling. Never finds a byte token.
  std::optional<TokenId> find_piece(std::string_view spelling) const;
  // Finds an added token: a control, user-defined or unknown one.
  std::optional<TokenId> find_added(std::string_view spelling) const;

 private:
  // The storage that add() fills.
  struct Filled {
    std::string spellings;
    std::vector<std::uint32_t> spelling_ends{0};
    std::string bytes;  // empty until some bytes differ from their spelling
    std::vector<std::uint32_t> byte_ends{0};
    bool bytes_differ = false;
    std::vector<TokenType> types;
    StringIndex pieces;
    StringIndex added;
  };

  std::string_view view(std::string_view buffer, std::span<const std::uint32_t> ends, TokenId id) const {
    CHECK(id >= 0 && id < size(), "token {} of {}", id, size());
    return buffer.substr(ends[id], ends[id + 1] - ends[id]);
  }

  Filled filled_;
  std::shared_ptr<const void> owner_;
  Columns columns_;
  std::size_t max_token_bytes_ = 1;
};

}  // namespace kvasir::text

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/result.h"
#include "text/string_index.h"
#include "text/vocabulary.h"

namespace kvasir::text {

// The tokens of a vocabulary by id, and back. A token has a spelling, by which the model finds it, and bytes,
// which it stands for in text; they differ where spaces are spelled with a mark. Filled once, then immutable.
class TokenTable {
 public:
  // Far above any real token. Looking for the pairs that make a token takes the square of its length.
  static constexpr std::size_t kMaxTokenBytes = 4096;

  struct Row {
    std::string_view spelling;
    std::string_view bytes;
    TokenType type = TokenType::normal;
  };

  void reserve(std::size_t num_tokens, std::size_t num_bytes);
  // Ids count up from 0. corrupt: the token is too long to be one.
  base::Status add(const Row& row);
  // Call after the last add: fills the indices. The first of two tokens with equal spelling is found.
  void build_index();

  // Of the longest token; at least 1.
  std::size_t max_token_bytes() const { return max_token_bytes_; }
  int size() const { return static_cast<int>(types_.size()); }
  std::string_view spelling(TokenId id) const { return view(spellings_, spelling_ends_, id); }
  std::string_view bytes(TokenId id) const {
    return bytes_differ_ ? view(bytes_, byte_ends_, id) : spelling(id);
  }
  TokenType type(TokenId id) const {
    CHECK(id >= 0 && id < size(), "token {} of {}", id, size());
    return types_[id];
  }
  bool is_special(TokenId id) const {
    const TokenType kind = type(id);
    return kind == TokenType::control || kind == TokenType::unknown || kind == TokenType::unused;
  }
  // Among the normal tokens, by spelling. A byte token spells what no normal one does, and is not found.
  std::optional<TokenId> find_piece(std::string_view spelling) const;
  // Among the added ones: control, user-defined, unknown.
  std::optional<TokenId> find_added(std::string_view spelling) const;

 private:
  std::string_view view(const std::string& buffer, const std::vector<std::uint32_t>& ends, TokenId id) const {
    CHECK(id >= 0 && id < size(), "token {} of {}", id, size());
    return std::string_view(buffer).substr(ends[id], ends[id + 1] - ends[id]);
  }

  std::string spellings_;
  std::vector<std::uint32_t> spelling_ends_{0};  // [size + 1]
  std::string bytes_;                            // empty until one differs from its spelling
  std::vector<std::uint32_t> byte_ends_{0};      // [size + 1] where bytes_differ_
  bool bytes_differ_ = false;
  std::vector<TokenType> types_;
  std::size_t max_token_bytes_ = 1;
  StringIndex pieces_;
  StringIndex added_;
};

}  // namespace kvasir::text

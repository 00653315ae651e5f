#pragma once

#include <cstddef>
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

// The tokens of a vocabulary by id, as raw bytes, and back. Filled once, then immutable.
class TokenTable {
 public:
  // Far above any real token. Looking for the pairs that make a token takes the square of its length.
  static constexpr std::size_t kMaxTokenBytes = 4096;

  // Ids count up from 0. All bytes go into one buffer. corrupt: the token is too long to be one.
  base::Status add(std::string_view bytes, TokenType type);
  // Call after the last add: fills the indices. The first of two tokens with equal bytes is found.
  void build_index();

  // Of the longest token; at least 1.
  std::size_t max_token_bytes() const { return max_token_bytes_; }
  int size() const { return static_cast<int>(types_.size()); }
  std::string_view bytes(TokenId id) const {
    CHECK(id >= 0 && id < size(), "token {} of {}", id, size());
    return std::string_view(buffer_).substr(ends_[id], ends_[id + 1] - ends_[id]);
  }
  TokenType type(TokenId id) const {
    CHECK(id >= 0 && id < size(), "token {} of {}", id, size());
    return types_[id];
  }
  bool is_special(TokenId id) const {
    const TokenType kind = type(id);
    return kind == TokenType::control || kind == TokenType::unknown || kind == TokenType::unused;
  }
  // Among the normal tokens. A byte token spells what no normal one does, and is not found.
  std::optional<TokenId> find_piece(std::string_view bytes) const;
  // Among the added ones: control, user-defined, unknown.
  std::optional<TokenId> find_added(std::string_view bytes) const;

 private:
  std::string buffer_;
  std::vector<std::size_t> ends_{0};  // [size + 1]
  std::vector<TokenType> types_;
  std::size_t max_token_bytes_ = 1;
  StringIndex pieces_;
  StringIndex added_;
};

}  // namespace kvasir::text

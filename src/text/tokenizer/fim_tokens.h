#pragma once

#include <optional>
#include <vector>

#include "base/ids.h"

namespace kvasir::text {

class TokenTable;

// The ids of the tokens for filling in the middle, as far as a file names them.
struct FimIds {
  std::optional<TokenId> prefix;
  std::optional<TokenId> suffix;
  std::optional<TokenId> middle;
  std::optional<TokenId> pad;
  std::optional<TokenId> repository;
  std::optional<TokenId> file;
};

// The tokens of a model that can fill in the middle of a text. The prompt for this is `prefix`, the text
// before the gap, `suffix`, the text after the gap, `middle`.
struct FimTokens {
  TokenId prefix = 0;
  TokenId suffix = 0;
  TokenId middle = 0;
  std::optional<TokenId> pad;
  std::optional<TokenId> repository;  // comes before the name of a repository
  std::optional<TokenId> file;        // comes before each file of a repository

  // Returns all of these tokens. None can be part of an answer, so each of them ends an answer.
  std::vector<TokenId> all() const;
};

// Takes the ids that the file names, and finds the others by the names that model families give them. Absent
// if `prefix`, `suffix` or `middle` is missing.
std::optional<FimTokens> find_fim_tokens(const TokenTable& table, const FimIds& named);

}  // namespace kvasir::text

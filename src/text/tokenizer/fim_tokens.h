#pragma once

#include <optional>
#include <vector>

#include "base/ids.h"

namespace kvasir::text {

class TokenTable;

// Ids that a file names for filling in the middle.
struct FimIds {
  std::optional<TokenId> prefix;
  std::optional<TokenId> suffix;
  std::optional<TokenId> middle;
  std::optional<TokenId> pad;
  std::optional<TokenId> repository;
  std::optional<TokenId> file;
};

// The tokens of a model that can fill in the middle of a text. Its prompt is `prefix`, the text before the
// gap, `suffix`, the text after the gap, `middle`.
struct FimTokens {
  TokenId prefix = 0;
  TokenId suffix = 0;
  TokenId middle = 0;
  std::optional<TokenId> pad;
  std::optional<TokenId> repository;  // comes before the name of a repository
  std::optional<TokenId> file;        // comes before each file of a repository

  // All of them. None is part of an answer, so each ends one.
  std::vector<TokenId> all() const;
};

// Takes the ids that the file names and finds the others by the names that model families give them. Absent
// if one of the first three is missing.
std::optional<FimTokens> find_fim_tokens(const TokenTable& table, const FimIds& named);

}  // namespace kvasir::text

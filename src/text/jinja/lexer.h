#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kvasir::text::jinja {

enum class TokenKind {
  data,
  block_begin,
  block_end,
  variable_begin,
  variable_end,
  name,
  string,
  integer,
  real,
  symbol,
  end
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;  // a string's value, a symbol, a name, or digits
  int line = 1;
};

// Splits a template into tokens. Treats white space as Jinja2 does under trim_blocks and lstrip_blocks. The
// last token is `end`.
base::Result<std::vector<Token>> tokenize(std::string_view source);

}  // namespace kvasir::text::jinja

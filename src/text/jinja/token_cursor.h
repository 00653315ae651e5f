#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "text/jinja/lexer.h"

namespace kvasir::text::jinja {

// A position in a template's tokens.
class TokenCursor {
 public:
  // `tokens` ends with TokenKind::end.
  explicit TokenCursor(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  Token take() {
    if (at_ + 1 == tokens_.size()) return tokens_.back();
    return std::move(tokens_[at_++]);
  }
  int line() const { return peek().line; }

  bool at(TokenKind kind) const { return peek().kind == kind; }
  bool at_symbol(std::string_view symbol) const { return at(TokenKind::symbol) && peek().text == symbol; }
  bool at_name(std::string_view name) const { return at(TokenKind::name) && peek().text == name; }
  bool skip_symbol(std::string_view symbol) {
    const bool found = at_symbol(symbol);
    if (found) ++at_;
    return found;
  }
  bool skip_name(std::string_view name) {
    const bool found = at_name(name);
    if (found) ++at_;
    return found;
  }

  base::Status expect_symbol(std::string_view symbol) {
    if (skip_symbol(symbol)) return base::ok();
    return unexpected(fmt::format("'{}'", symbol));
  }
  base::Status expect(TokenKind kind, std::string_view description) {
    if (!at(kind)) return unexpected(description);
    ++at_;
    return base::ok();
  }
  base::Result<std::string> expect_name() {
    if (!at(TokenKind::name)) return unexpected("a name");
    return take().text;
  }

  base::Error failed(std::string_view what) const { return failed_at(line(), what); }
  static base::Error failed_at(int line, std::string_view what) {
    return base::error(base::ErrorCode::invalid_argument, "line {}: {}", line, what);
  }
  base::Error unexpected(std::string_view wanted) const {
    return failed(fmt::format("expected {}, got {}", wanted, describe(peek())));
  }

 private:
  static std::string describe(const Token& token) {
    switch (token.kind) {
      case TokenKind::data:
        return "text";
      case TokenKind::block_begin:
        return "'{%'";
      case TokenKind::block_end:
        return "'%}'";
      case TokenKind::variable_begin:
        return "'{{'";
      case TokenKind::variable_end:
        return "'}}'";
      case TokenKind::end:
        return "the end of the template";
      default:
        return fmt::format("'{}'", token.text.substr(0, 40));
    }
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace kvasir::text::jinja

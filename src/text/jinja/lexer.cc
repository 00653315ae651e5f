#include "text/jinja/lexer.h"

#include <array>
#include <optional>
#include <utility>

#include "text/jinja/string_literal.h"

namespace kvasir::text::jinja {
namespace {

using base::Result;
using base::Status;

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c) ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Longest first.
constexpr std::array<std::string_view, 24> kSymbols = {"//", "**", "==", "!=", ">=", "<=", "+", "-",
                                                       "*",  "/",  "%",  "~",  "[",  "]",  "(", ")",
                                                       "{",  "}",  ">",  "<",  "=",  ".",  ":", "|"};

// Line ends become "\n", and one at the very end goes, as Jinja2 does.
std::string with_plain_newlines(std::string_view source) {
  std::string plain;
  plain.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      plain += source[i];
      continue;
    }
    plain += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (plain.ends_with('\n')) plain.pop_back();
  return plain;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size()) TRY_OK(next_part());
    add(TokenKind::end, {});
    return std::move(tokens_);
  }

 private:
  // Text up to the next tag, and the tag.
  Status next_part() {
    std::size_t tag = at_;
    while (true) {
      tag = source_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= source_.size()) {
        add(TokenKind::data, source_.substr(at_));
        at_ = source_.size();
        return base::ok();
      }
      const char kind = source_[tag + 1];
      if (kind == '%' || kind == '{' || kind == '#') break;
      ++tag;
    }
    const char kind = source_[tag + 1];
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    const bool signed_tag = sign == '-' || sign == '+';
    add_data(tag, kind, sign);
    advance(tag + (signed_tag ? 3 : 2));
    if (kind == '#') return skip_comment();
    if (kind == '{') return lex_expression(TokenKind::variable_begin);
    if (const auto raw = match_word_tag("raw")) return lex_raw(*raw);
    return lex_expression(TokenKind::block_begin);
  }

  // The text before a tag that begins at `tag`, stripped as its sign and the line's shape ask.
  void add_data(std::size_t tag, char kind, char sign) {
    std::string_view data = std::string_view(source_).substr(at_, tag - at_);
    if (sign == '-') {
      while (!data.empty() && is_space(data.back())) data.remove_suffix(1);
    } else if (sign != '+' && kind != '{') {
      const std::size_t newline = data.rfind('\n');
      const std::size_t line_start = newline == std::string_view::npos ? 0 : newline + 1;
      const bool line_starting = at_ == 0 || source_[at_ - 1] == '\n';
      if (line_start > 0 || line_starting) {
        const std::string_view indent = data.substr(line_start);
        if (indent.find_first_not_of(" \t\v\f") == std::string_view::npos) data = data.substr(0, line_start);
      }
    }
    if (!data.empty()) add(TokenKind::data, std::string(data));
  }

  void advance(std::size_t to) {
    for (; at_ < to; ++at_) {
      if (source_[at_] == '\n') ++line_;
    }
  }

  void skip_spaces() {
    while (at_ < source_.size() && is_space(source_[at_])) advance(at_ + 1);
  }

  enum class Newline { kept, trimmed };

  // Past a closing tag of two characters, after its sign.
  void close_tag(char sign, Newline newline) {
    advance(at_ + 2);
    if (sign == '-') {
      skip_spaces();
    } else if (sign != '+' && newline == Newline::trimmed && at_ < source_.size() && source_[at_] == '\n') {
      advance(at_ + 1);
    }
  }

  Status skip_comment() {
    const std::size_t close = source_.find("#}", at_);
    if (close == std::string::npos) return failed("a comment is not closed");
    const char sign = close > at_ ? source_[close - 1] : '\0';
    advance(close);
    close_tag(sign, Newline::trimmed);
    return base::ok();
  }

  struct WordTag {
    std::size_t close;  // where its "%}" is
    char sign;
  };

  // Whether the tag whose opening is behind `from` is just this word.
  std::optional<WordTag> match_word_tag(std::string_view word) const { return match_word_tag(word, at_); }
  std::optional<WordTag> match_word_tag(std::string_view word, std::size_t from) const {
    const std::string_view source = source_;
    while (from < source.size() && is_space(source[from])) ++from;
    if (source.substr(from, word.size()) != word) return std::nullopt;
    from += word.size();
    while (from < source.size() && is_space(source[from])) ++from;
    char sign = '\0';
    if (from < source.size() && (source[from] == '-' || source[from] == '+')) sign = source[from++];
    if (source.substr(from, 2) != "%}") return std::nullopt;
    return WordTag{from, sign};
  }

  Status lex_raw(WordTag open) {
    advance(open.close);
    close_tag(open.sign, Newline::kept);
    for (std::size_t tag = source_.find("{%", at_); tag != std::string::npos;
         tag = source_.find("{%", tag + 1)) {
      std::size_t inside = tag + 2;
      const char sign = inside < source_.size() ? source_[inside] : '\0';
      if (sign == '-' || sign == '+') ++inside;
      const auto close = match_word_tag("endraw", inside);
      if (!close) continue;
      add_data(tag, '%', sign);
      advance(close->close);
      close_tag(close->sign, Newline::trimmed);
      return base::ok();
    }
    return failed("a raw block is not closed");
  }

  Status lex_expression(TokenKind begin) {
    const bool block = begin == TokenKind::block_begin;
    const std::string_view close = block ? "%}" : "}}";
    add(begin, {});
    const int opened_at = line_;
    int num_open = 0;  // brackets
    while (true) {
      skip_spaces();
      if (at_ >= source_.size()) {
        line_ = opened_at;
        return failed(block ? "a block is not closed with %}" : "an expression is not closed with }}");
      }
      const std::string_view rest = std::string_view(source_).substr(at_);
      const bool has_sign = rest[0] == '-' || (rest[0] == '+' && block);
      if (num_open == 0 && rest.substr(has_sign ? 1 : 0, 2) == close) {
        add(block ? TokenKind::block_end : TokenKind::variable_end, {});
        const char sign = has_sign ? rest[0] : '\0';
        if (has_sign) advance(at_ + 1);
        close_tag(sign, block ? Newline::trimmed : Newline::kept);
        return base::ok();
      }
      TRY_OK(lex_one(rest));
      const Token& last = tokens_.back();
      if (last.kind != TokenKind::symbol) continue;
      if (last.text == "(" || last.text == "[" || last.text == "{") ++num_open;
      if (last.text == ")" || last.text == "]" || last.text == "}") --num_open;
      if (num_open < 0) return failed("unexpected '" + last.text + "'");
    }
  }

  Status lex_one(std::string_view rest) {
    const char c = rest[0];
    if (c == '"' || c == '\'') {
      std::size_t end = 1;
      while (end < rest.size() && rest[end] != c) end += rest[end] == '\\' ? 2 : 1;
      if (end >= rest.size()) return failed("a string is not closed");
      add(TokenKind::string, unescape_literal(rest.substr(1, end - 1)));
      advance(at_ + end + 1);
      return base::ok();
    }
    if (is_digit(c)) return lex_number(rest);
    if (is_name(c)) {
      std::size_t end = 1;
      while (end < rest.size() && is_name(rest[end])) ++end;
      add(TokenKind::name, std::string(rest.substr(0, end)));
      advance(at_ + end);
      return base::ok();
    }
    for (const std::string_view symbol : kSymbols) {
      if (!rest.starts_with(symbol)) continue;
      add(TokenKind::symbol, std::string(symbol));
      advance(at_ + symbol.size());
      return base::ok();
    }
    if (c == ',' || c == ';') {
      add(TokenKind::symbol, std::string(1, c));
      advance(at_ + 1);
      return base::ok();
    }
    return failed(std::string("unexpected character '") + c + "'");
  }

  Status lex_number(std::string_view rest) {
    std::size_t end = 0;
    const auto take_digits = [&] {
      while (end < rest.size() && (is_digit(rest[end]) || rest[end] == '_')) ++end;
    };
    take_digits();
    bool real = false;
    // After a dot a number is an index: a.0.1
    const bool after_dot = tokens_.back().kind == TokenKind::symbol && tokens_.back().text == ".";
    if (!after_dot && end + 1 < rest.size() && rest[end] == '.' && is_digit(rest[end + 1])) {
      real = true;
      ++end;
      take_digits();
    }
    if (!after_dot && end < rest.size() && (rest[end] == 'e' || rest[end] == 'E')) {
      std::size_t exponent = end + 1;
      if (exponent < rest.size() && (rest[exponent] == '+' || rest[exponent] == '-')) ++exponent;
      if (exponent < rest.size() && is_digit(rest[exponent])) {
        real = true;
        end = exponent;
        take_digits();
      }
    }
    std::string digits;
    for (const char c : rest.substr(0, end)) {
      if (c != '_') digits += c;
    }
    add(real ? TokenKind::real : TokenKind::integer, std::move(digits));
    advance(at_ + end);
    return base::ok();
  }

  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }

  base::Error failed(std::string what) const {
    return base::error(base::ErrorCode::invalid_argument, "line {}: {}", line_, what);
  }

  std::string source_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source) {
  return Lexer(with_plain_newlines(source)).run();
}

}  // namespace kvasir::text::jinja

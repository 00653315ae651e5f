#include "text/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "text/jinja/characters.h"
#include "text/jinja/string_literal.h"

namespace kvasir::text::jinja {
namespace {

using base::Result;
using base::Status;

// Returns the number of bytes of space at the beginning of `text`.
std::size_t leading_space(std::string_view text) {
  return stripped(text, nullptr, Side::left).begin;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c) ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Longer symbols come before their beginnings, so that the first match is the longest.
constexpr std::array<std::string_view, 24> kSymbols = {"//", "**", "==", "!=", ">=", "<=", "+", "-",
                                                       "*",  "/",  "%",  "~",  "[",  "]",  "(", ")",
                                                       "{",  "}",  ">",  "<",  "=",  ".",  ":", "|"};

// Changes line ends to "\n" and removes one at the very end, as Jinja2 does.
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
  // Lexes the text up to the next tag, and that tag.
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

  // Adds the text before the tag at `tag`. The tag's sign, and the line before the tag, decide what is
  // stripped.
  void add_data(std::size_t tag, char kind, char sign) {
    std::string_view data = std::string_view(source_).substr(at_, tag - at_);
    if (sign == '-') {
      data = data.substr(0, stripped(data, nullptr, Side::right).end);
    } else if (sign != '+' && kind != '{') {
      const std::size_t newline = data.rfind('\n');
      const std::size_t line_start = newline == std::string_view::npos ? 0 : newline + 1;
      const bool line_starting = at_ == 0 || source_[at_ - 1] == '\n';
      if (line_start > 0 || line_starting) {
        const std::string_view indent = data.substr(line_start);
        if (leading_space(indent) == indent.size()) data = data.substr(0, line_start);
      }
    }
    if (!data.empty()) add(TokenKind::data, std::string(data));
  }

  void advance(std::size_t to) {
    for (; at_ < to; ++at_) {
      if (source_[at_] == '\n') ++line_;
    }
  }

  void skip_spaces() { advance(at_ + leading_space(std::string_view(source_).substr(at_))); }

  enum class Newline { kept, trimmed };

  // Skips the two characters that close a tag. The tag's sign has been read.
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

  // Finds the end of the tag that was opened just before `from`. Absent unless the tag consists of only this
  // word.
  std::optional<WordTag> match_word_tag(std::string_view word) const { return match_word_tag(word, at_); }
  std::optional<WordTag> match_word_tag(std::string_view word, std::size_t from) const {
    const std::string_view source = source_;
    const auto skip_space = [&] { from += leading_space(source.substr(std::min(from, source.size()))); };
    skip_space();
    if (source.substr(from, word.size()) != word) return std::nullopt;
    from += word.size();
    skip_space();
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
    int num_open = 0;  // number of open brackets
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
      auto text = unescape_literal(rest.substr(1, end - 1));
      if (!text.ok()) return failed(text.error().message);
      add(TokenKind::string, std::move(text).value());
      advance(at_ + end + 1);
      return base::ok();
    }
    if (is_digit(c)) return lex_number(rest);
    if (is_name(c)) {
      std::size_t end = 1;
      while (end < rest.size() && is_name(rest[end])) ++end;
      if (c >= '0' && c <= '9') return failed("a name begins with a digit");
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
    const auto take = [&](std::string_view digits) {
      const std::size_t begin = end;
      const auto is = [&](std::size_t at) {
        return at < rest.size() && digits.find(rest[at]) != std::string_view::npos;
      };
      while (is(end) || (end < rest.size() && rest[end] == '_' && end > begin && is(end + 1))) ++end;
      return end > begin;
    };
    constexpr std::string_view kDigits = "0123456789";
    // A number after a dot is an index, as in a.0.1.
    const bool after_dot = tokens_.back().kind == TokenKind::symbol && tokens_.back().text == ".";
    const char letter = rest.size() > 2 && rest[0] == '0' ? static_cast<char>(rest[1] | 0x20) : '\0';
    const std::string_view based = letter == 'x'   ? "0123456789abcdefABCDEF"
                                   : letter == 'o' ? "01234567"
                                   : letter == 'b' ? "01"
                                                   : "";
    if (const std::size_t first = rest.size() > 3 && rest[2] == '_' ? 3 : 2;
        !based.empty() && first < rest.size() && based.find(rest[first]) != std::string_view::npos) {
      end = first;
      take(based);
      return add_number(TokenKind::integer, rest.substr(0, end));
    }
    take(kDigits);
    const std::size_t whole = end;
    bool real = false;
    if (!after_dot && end + 1 < rest.size() && rest[end] == '.') {
      ++end;
      real = take(kDigits);
      if (!real) end = whole;
    }
    if (!after_dot && end < rest.size() && (rest[end] == 'e' || rest[end] == 'E')) {
      const std::size_t before = end++;
      if (end < rest.size() && (rest[end] == '+' || rest[end] == '-')) ++end;
      if (take(kDigits))
        real = true;
      else
        end = before;
    }
    // As in Jinja2, 00 is one number, but 07 is two.
    if (!real && rest[0] == '0') {
      end = 1;
      while (end < whole && (rest[end] == '0' || (rest[end] == '_' && rest[end + 1] == '0'))) ++end;
    }
    return add_number(real ? TokenKind::real : TokenKind::integer, rest.substr(0, end));
  }

  Status add_number(TokenKind kind, std::string_view written) {
    std::string digits;
    std::copy_if(written.begin(), written.end(), std::back_inserter(digits), [](char c) { return c != '_'; });
    add(kind, std::move(digits));
    advance(at_ + written.size());
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

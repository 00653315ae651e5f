#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/result.h"
#include "text/tokenizer/character_class.h"
#include "text/tokenizer/prompt.h"
#include "text/tokenizer/regex.h"
#include "text/tokenizer/scanner.h"

namespace kvasir::text {

// A pattern at which text is split: a regular expression, the scanner of a known expression, a fixed text, or
// a test of characters. Immutable and thread-safe.
class Pattern {
 public:
  static base::Result<Pattern> regex(const std::string& expression) {
    if (const auto scanner = Scanner::of(expression)) return Pattern(*scanner);
    TRY(Regex compiled, Regex::compile(expression));
    return Pattern(std::move(compiled));
  }
  // Matches a fixed text. `text` is not empty.
  static Pattern literal(std::string text) { return Pattern(std::move(text)); }
  // Matches every character for which the test is true.
  using Test = bool (*)(char32_t character);
  static Pattern character(Test test) { return Pattern(test); }

  // Returns the scanner if its matches leave no gaps, else null.
  const Scanner* covering_scanner() const {
    const auto* scanner = std::get_if<Scanner>(&kind_);
    return scanner != nullptr && scanner->covers_everything() ? scanner : nullptr;
  }

  // Calls f(range) for every match, from left to right. Matches are never empty. `text` is valid UTF-8.
  template <class F>
  void for_each_match(std::string_view text, const F& f) const;

 private:
  using Kind = std::variant<Regex, Scanner, std::string, Test>;
  explicit Pattern(Kind kind) : kind_(std::move(kind)) {}

  template <class F>
  static void scan(const Scanner& scanner, std::string_view text, const F& f);
  template <class F>
  static void test_each(Test test, std::string_view text, const F& f);

  Kind kind_;
};

template <class F>
void Pattern::for_each_match(std::string_view text, const F& f) const {
  if (const auto* scanner = std::get_if<Scanner>(&kind_)) return scan(*scanner, text, f);
  if (const auto* test = std::get_if<Test>(&kind_)) return test_each(*test, text, f);
  if (const auto* literal = std::get_if<std::string>(&kind_)) {
    for (std::size_t at = 0; (at = text.find(*literal, at)) != std::string_view::npos; at += literal->size())
      f(Range{at, at + literal->size()});
    return;
  }
  Regex::Search search(std::get<Regex>(kind_), text);
  while (const auto match = search.next()) f(*match);
}

template <class F>
void Pattern::scan(const Scanner& scanner, std::string_view text, const F& f) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  for (const char* at = begin; at < end;) {
    const char* behind = scanner.match(at, end);
    if (behind == at) {
      at += classify(at).size;
      continue;
    }
    f(Range{static_cast<std::size_t>(at - begin), static_cast<std::size_t>(behind - begin)});
    at = behind;
  }
}

template <class F>
void Pattern::test_each(Test test, std::string_view text, const F& f) {
  for (std::size_t at = 0; at < text.size();) {
    std::uint8_t size = 1;
    const auto first = static_cast<unsigned char>(text[at]);
    const char32_t character = first < 0x80 ? first : decode_beyond_ascii(text.data() + at, size);
    if (test(character)) f(Range{at, at + size});
    at += size;
  }
}

}  // namespace kvasir::text

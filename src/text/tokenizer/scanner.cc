#include "text/tokenizer/scanner.h"

#include <string>

#include "text/tokenizer/character_class.h"

namespace kvasir::text {
namespace {

// Returns the end of 's 't 're 've 'm 'll 'd at `at`, or `at` if there is none. With (?i), U+017F counts as
// an s.
const char* contraction(const char* at, const char* end) {
  if (at == end || *at != '\'' || at + 1 == end) return at;
  const auto lower = [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c); };
  const char first = lower(at[1]);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
  if (at + 2 == end) return at;
  const char second = lower(at[2]);
  if ((first == 'r' || first == 'v') && second == 'e') return at + 3;
  if (first == 'l' && second == 'l') return at + 3;
  return at[1] == '\xC5' && at[2] == '\xBF' ? at + 3 : at;
}

const char* contraction_in_lower_case(const char* at, const char* end) {
  for (const char* c = at + 1; c < end && c < at + 3; ++c) {
    if (*c >= 'A' && *c <= 'Z') {
      if (c == at + 1) return at;
      end = c;
    }
  }
  if (at + 1 < end && at[1] == '\xC5') return at;
  return contraction(at, end);
}

// Matches \s*[\r\n]+|\s+(?!\S)|\s+, or the same without the first alternative. `at` is at a space.
template <bool lines>
const char* spaces(const char* at, const char* end) {
  const char* last = at;         // where the run's last character begins
  const char* behind_line = at;  // just after the run's last line end
  const char* run = at;
  while (run < end) {
    const ClassedCharacter character = classify(run);
    if ((character.classes & kSpace) == 0) break;
    last = run;
    run += character.size;
    if ((character.classes & kNewline) != 0) behind_line = run;
  }
  if (lines && behind_line > at) return behind_line;
  return run < end && last > at ? last : run;
}

const char* skip_newlines(const char* at, const char* end) {
  while (at < end && (*at == '\r' || *at == '\n')) ++at;
  return at;
}

const char* skip_newlines_and_slashes(const char* at, const char* end) {
  while (at < end && (*at == '\r' || *at == '\n' || *at == '/')) ++at;
  return at;
}

const char* numbers(const char* at, const char* end, int most) {
  for (int i = 0; i < most && at < end; ++i) {
    const ClassedCharacter character = classify(at);
    if ((character.classes & kNumber) == 0) break;
    at += character.size;
  }
  return at;
}

const char* match_gpt2(const char* at, const char* end) {
  if (*at == '\'') {
    if (const char* behind = contraction_in_lower_case(at, end); behind > at) return behind;
  }
  const char* word = *at == ' ' && at + 1 < end ? at + 1 : at;
  const ClassedCharacter first = classify(word);
  if ((first.classes & kLetter) != 0) return skip_run(word + first.size, end, kLetter);
  if ((first.classes & kNumber) != 0) return skip_run(word + first.size, end, kNumber);
  if ((first.classes & kSpace) == 0)
    return skip_run_without(word + first.size, end, kSpace | kLetter | kNumber);
  return spaces<false>(at, end);
}

// Matches the patterns of Qwen and llama 3. `letters` are the classes of which words consist.
template <int most_digits, std::uint16_t letters>
const char* match_cl100k(const char* at, const char* end) {
  if (*at == '\'') {
    if (const char* behind = contraction(at, end); behind > at) return behind;
  }
  const ClassedCharacter first = classify(at);
  if ((first.classes & (kNewline | kLetter | kNumber)) == 0 && at + first.size < end) {
    const ClassedCharacter second = classify(at + first.size);
    if ((second.classes & letters) != 0) return skip_run(at + first.size + second.size, end, letters);
  }
  if ((first.classes & letters) != 0) return skip_run(at + first.size, end, letters);
  if ((first.classes & kNumber) != 0) return numbers(at + first.size, end, most_digits - 1);
  constexpr std::uint16_t kNotOther = kSpace | letters | kNumber;
  const char* marks = *at == ' ' ? at + 1 : at;
  const char* behind = skip_run_without(marks, end, kNotOther);
  if (behind > marks) return skip_newlines(behind, end);
  return spaces<true>(at, end);
}

// Matches [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+ from `at`, else
// [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+. Returns the end, or `at` if neither matches.
const char* cased_word(const char* at, const char* end) {
  const char* behind_either = at;  // just after the last character that fits both parts
  const char* upper = at;
  while (upper < end) {
    const ClassedCharacter character = classify(upper);
    if ((character.classes & (kUpper | kCaseless | kMark)) == 0) break;
    upper += character.size;
    if ((character.classes & kUpper) == 0) behind_either = upper;
  }
  const char* behind = skip_run(upper, end, kLower | kCaseless | kMark);
  if (behind > upper) return behind;
  return behind_either > at ? behind_either : upper;
}

template <int most_digits, bool contractions>
const char* match_o200k(const char* at, const char* end) {
  const ClassedCharacter first = classify(at);
  const char* word = at;
  // A mark could also be taken as the character before the word. The match would be the same.
  if ((first.classes & (kNewline | kLetter | kMark | kNumber)) == 0) {
    word = cased_word(at + first.size, end);
    if (word == at + first.size) word = at;
  }
  if (word == at) word = cased_word(at, end);
  if (word > at) return contractions ? contraction(word, end) : word;
  if ((first.classes & kNumber) != 0) return numbers(at + first.size, end, most_digits - 1);
  const char* marks = *at == ' ' ? at + 1 : at;
  const char* behind = skip_run_without(marks, end, kSpace | kLetter | kNumber);
  if (behind > marks) return skip_newlines_and_slashes(behind, end);
  return spaces<true>(at, end);
}

const char* match_deepseek(const char* at, const char* end) {
  const auto is_ascii_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const ClassedCharacter first = classify(at);
  const char* next = at + first.size;
  const bool ascii = static_cast<unsigned char>(*at) < 0x80;
  if (ascii && (first.classes & kPunctuation) != 0 && next < end && is_ascii_letter(*next)) {
    while (next < end && is_ascii_letter(*next)) ++next;
    return next;
  }
  constexpr std::uint16_t kWord = kLetter | kMark;
  if ((first.classes & (kNewline | kLetter | kPunctuation)) == 0) {
    const char* behind = skip_run(next, end, kWord);
    if (behind > next) return behind;
  }
  if ((first.classes & kWord) != 0) return skip_run(next, end, kWord);
  const char* marks = *at == ' ' ? at + 1 : at;
  const char* behind = skip_run(marks, end, kPunctuation);
  if (behind > marks) return skip_newlines(behind, end);
  return (first.classes & kSpace) != 0 ? spaces<true>(at, end) : at;
}

const char* match_deepseek_han(const char* at, const char* end) {
  while (at < end && static_cast<unsigned char>(*at) >= 0xE3) {
    std::uint8_t size = 0;
    const char32_t character = decode_beyond_ascii(at, size);
    const bool han =
        (character >= 0x4E00 && character <= 0x9FA5) || (character >= 0x3040 && character <= 0x30FF);
    if (!han) break;
    at += size;
  }
  return at;
}

template <int most>
const char* match_numbers(const char* at, const char* end) {
  return numbers(at, end, most);
}

const char* match_spaces(const char* at, const char* end) {
  return skip_run(at, end, kSpace);
}

// Returns the pattern with its line ends written as escapes.
std::string escaped(std::string_view pattern) {
  std::string plain;
  for (const char c : pattern) {
    if (c == '\r' || c == '\n') {
      plain += c == '\r' ? "\\r" : "\\n";
    } else {
      plain += c;
    }
  }
  return plain;
}

}  // namespace

std::optional<Scanner> Scanner::of(std::string_view pattern) {
  struct Known {
    const char* pattern;
    Match match;
    bool covers_everything;
  };
  static constexpr Known kKnown[] = {
      {kGpt2Pattern, match_gpt2, true},
      {kQwen2Pattern, match_cl100k<1, kLetter>, true},
      {kQwen35Pattern, match_cl100k < 1, kLetter | kMark >, true},
      {kLlama3Pattern, match_cl100k<3, kLetter>, true},
      {kO200kPattern, match_o200k<3, true>, true},
      {kTekkenPattern, match_o200k<1, false>, true},
      {kDeepSeekPattern, match_deepseek, false},
      {kDeepSeekHanPattern, match_deepseek_han, false},
      {kDigitPattern, match_numbers<1>, false},
      {kThreeDigitsPattern, match_numbers<3>, false},
      {kSpacesPattern, match_spaces, false},
  };
  const std::string plain = escaped(pattern);
  for (const Known& known : kKnown) {
    if (plain == known.pattern) return Scanner(known.match, known.covers_everything);
  }
  return std::nullopt;
}

}  // namespace kvasir::text

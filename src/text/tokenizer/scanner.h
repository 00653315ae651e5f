#pragma once

#include <optional>
#include <string_view>

namespace kvasir::text {

// A hand-written matcher for one of the split patterns that most models share. It is several times faster
// than the regular expression, and takes linear time for any text. A test checks that both give the same
// result.
class Scanner {
 public:
  // Returns the scanner for exactly this pattern, if there is one.
  static std::optional<Scanner> of(std::string_view pattern);

  // Returns the end of the match that begins at `at`, or `at` if there is none. [at, end) is valid UTF-8.
  const char* match(const char* at, const char* end) const { return match_(at, end); }
  // Whether a match begins at every character, so that matches leave no gaps.
  bool covers_everything() const { return covers_everything_; }

 private:
  using Match = const char* (*)(const char* at, const char* end);
  Scanner(Match match, bool covers_everything) : match_(match), covers_everything_(covers_everything) {}

  Match match_;
  bool covers_everything_;
};

// The patterns, spelled as in the models' files.
inline constexpr const char* kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr const char* kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr const char* kQwen35Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr const char* kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr const char* kO200kPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr const char* kTekkenPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr const char* kDeepSeekHanPattern = "[一-龥぀-ゟ゠-ヿ]+";
// In Hugging Face's files this pattern has real line ends. The patterns for GGUF have escapes. Both mean the
// same.
inline constexpr const char* kDeepSeekPattern =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr const char* kDigitPattern = R"(\p{N})";
inline constexpr const char* kThreeDigitsPattern = R"(\p{N}{1,3})";
inline constexpr const char* kSpacesPattern = R"(\s+)";

}  // namespace kvasir::text

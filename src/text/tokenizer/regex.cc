#include "text/tokenizer/regex.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace kvasir::text {
namespace {

// Hugging Face's engine and PCRE2 read some escapes differently. The engine's \s has these characters but not
// U+180E. The engine's \w has marks, but no numbers except decimal ones.
constexpr std::string_view kSpaceMembers = R"(\t-\r\x{85}\p{Z})";
constexpr std::string_view kWordMembers = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";

std::string with_plain_classes(std::string_view pattern) {
  std::string rewritten;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char escaped = pattern[++i];
      const bool is_space = escaped == 's' || escaped == 'S';
      const bool is_word = escaped == 'w' || escaped == 'W';
      const bool is_negative = escaped == 'S' || escaped == 'W';
      const std::string_view members = is_space ? kSpaceMembers : kWordMembers;
      if ((!is_space && !is_word) || (in_class && is_negative)) {
        rewritten += c;
        rewritten += escaped;
      } else if (in_class) {
        rewritten += members;
      } else {
        rewritten += is_negative ? "[^" : "[";
        rewritten += members;
        rewritten += ']';
      }
      continue;
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    rewritten += c;
  }
  return rewritten;
}

}  // namespace

base::Result<Regex> Regex::compile(const std::string& pattern) {
  const std::string rewritten = with_plain_classes(pattern);
  int code_number = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(rewritten.data()), rewritten.size(),
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                                   &code_number, &offset, nullptr);
  if (code == nullptr) {
    PCRE2_UCHAR message[256];
    pcre2_get_error_message(code_number, message, sizeof(message));
    return base::error(base::ErrorCode::unsupported, "regular expression \"{}\": {} (at {})", pattern,
                       reinterpret_cast<const char*>(message), offset);
  }
  // Some systems refuse JIT. Matching is then slower, but gives the same result.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return Regex(std::shared_ptr<const void>(code, [](const void* p) {
    pcre2_code_free(const_cast<pcre2_code*>(static_cast<const pcre2_code*>(p)));
  }));
}

Regex::Search::Search(const Regex& regex, std::string_view text)
    : text_(text), code_(regex.code_.get()), match_(pcre2_match_data_create(1, nullptr), [](void* p) {
        pcre2_match_data_free(static_cast<pcre2_match_data*>(p));
      }) {
  CHECK(match_ != nullptr);
}

std::optional<Range> Regex::Search::next() {
  const auto* code = static_cast<const pcre2_code*>(code_);
  auto* match = static_cast<pcre2_match_data*>(match_.get());
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text_.data());
  while (at_ < text_.size()) {
    int found = pcre2_match(code, subject, text_.size(), at_, PCRE2_NO_UTF_CHECK, match, nullptr);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
      found =
          pcre2_match(code, subject, text_.size(), at_, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, match, nullptr);
    }
    if (found < 0) {
      at_ = text_.size();
      return std::nullopt;
    }
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(match);
    const Range range{ends[0], ends[1]};
    // With \K in a lookahead, the start can be after the end. Such a match is ignored.
    if (range.end > range.begin && range.begin >= at_) {
      at_ = range.end;
      return range;
    }
    at_ = std::max(at_, range.end);
    if (at_ < text_.size()) at_ += base::utf8_step(text_.substr(at_)).size;
  }
  return std::nullopt;
}

}  // namespace kvasir::text

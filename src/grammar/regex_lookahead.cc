#include "grammar/regex_lookahead.h"

namespace kvasir::grammar {
namespace {

// Calls `f(i)` for each character that is neither escaped nor in a class, until it returns false.
template <class F>
void for_each_plain(std::string_view text, F f) {
  bool in_class = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (in_class) {
      in_class = text[i] != ']';
    } else if (text[i] == '[') {
      in_class = true;
    } else if (!f(i)) {
      return;
    }
  }
}

// The index after the group that begins the text; 0 if it does not end.
std::size_t end_of_group(std::string_view text) {
  int depth = 0;
  std::size_t end = 0;
  for_each_plain(text, [&](std::size_t i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) end = i + 1;
    return end == 0;
  });
  return end;
}

bool has_outer_choice(std::string_view text) {
  int depth = 0;
  bool found = false;
  for_each_plain(text, [&](std::size_t i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    found = text[i] == '|' && depth == 0;
    return !found;
  });
  return found;
}

}  // namespace

SplitPattern split_lookaheads(std::string_view pattern) {
  SplitPattern split;
  std::string_view rest = pattern;
  if (rest.starts_with('^')) rest.remove_prefix(1);
  while (rest.size() < pattern.size() && (rest.starts_with("(?=") || rest.starts_with("(?!"))) {
    const std::size_t end = end_of_group(rest);
    constexpr std::string_view kQuantifiers = "*+?{";
    if (end == 0 || (end < rest.size() && kQuantifiers.find(rest[end]) != std::string_view::npos)) break;
    auto& list = rest[2] == '=' ? split.match : split.not_match;
    list.push_back("^(?:" + std::string(rest.substr(3, end - 4)) + ")");
    rest.remove_prefix(end);
  }
  if ((split.match.empty() && split.not_match.empty()) || has_outer_choice(rest))
    return {.rest = std::string(pattern)};
  split.rest = "^" + std::string(rest);
  return split;
}

std::string regex_of_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    constexpr std::string_view kSpecial = "\\^$.|?*+()[]{}/";
    if (kSpecial.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace kvasir::grammar

#include "text/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace kvasir::text {
namespace {

std::vector<std::size_t> borders(std::string_view text) {
  std::vector<std::size_t> border(text.size(), 0);
  std::size_t length = 0;
  for (std::size_t i = 1; i < text.size(); ++i) {
    while (length > 0 && text[i] != text[length]) length = border[length - 1];
    if (text[i] == text[length]) ++length;
    border[i] = length;
  }
  return border;
}

}  // namespace

StopMatcher::StopMatcher(std::vector<std::string> stops) {
  for (std::string& stop : stops) {
    if (stop.empty()) continue;
    auto fallback = borders(stop);
    patterns_.push_back({std::move(stop), std::move(fallback), 0});
  }
}

void StopMatcher::advance(Pattern& pattern, char c) {
  while (pattern.matched > 0 && pattern.text[pattern.matched] != c) {
    pattern.matched = pattern.fallback[pattern.matched - 1];
  }
  if (pattern.text[pattern.matched] == c) ++pattern.matched;
}

std::string StopMatcher::push(std::string_view text) {
  if (found_) return {};
  std::size_t tail = 0;
  for (const char c : text) {
    held_.push_back(c);
    tail = 0;
    const Pattern* hit = nullptr;
    for (Pattern& pattern : patterns_) {
      advance(pattern, c);
      tail = std::max(tail, pattern.matched);
      if (pattern.matched < pattern.text.size()) continue;
      if (hit == nullptr || pattern.text.size() > hit->text.size()) hit = &pattern;
    }
    if (hit == nullptr) continue;
    found_ = hit->text;
    held_.resize(held_.size() - hit->text.size());
    return std::exchange(held_, {});
  }
  if (text.empty()) return {};
  std::string safe = held_.substr(0, held_.size() - tail);
  held_.erase(0, safe.size());
  return safe;
}

std::string StopMatcher::flush() {
  return std::exchange(held_, {});
}

}  // namespace kvasir::text

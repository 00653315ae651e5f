#include "text/answer/stop_matcher.h"

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

// Returns how many bytes of the pattern are matched after `c`, if `matched` bytes were matched before it.
std::size_t advance(const StopPatterns::Pattern& pattern, std::size_t matched, char c) {
  // A complete match ends the stream, so pattern.text[matched] exists.
  while (matched > 0 && pattern.text[matched] != c) matched = pattern.fallback[matched - 1];
  return pattern.text[matched] == c ? matched + 1 : matched;
}

}  // namespace

StopPatterns::StopPatterns(std::vector<std::string> stops) {
  for (std::string& stop : stops) {
    if (stop.empty()) continue;
    auto fallback = borders(stop);
    patterns_.push_back({std::move(stop), std::move(fallback)});
  }
}

StopMatcher::StopMatcher(std::shared_ptr<const StopPatterns> patterns)
    : patterns_(std::move(patterns)), matched_(patterns_->all().size(), 0) {}

std::string StopMatcher::push(std::string_view text) {
  if (found_) return {};
  std::size_t tail = 0;
  for (const char c : text) {
    held_.push_back(c);
    tail = 0;
    const StopPatterns::Pattern* hit = nullptr;
    for (std::size_t i = 0; i < matched_.size(); ++i) {
      const StopPatterns::Pattern& pattern = patterns_->all()[i];
      matched_[i] = advance(pattern, matched_[i], c);
      tail = std::max(tail, matched_[i]);
      if (matched_[i] < pattern.text.size()) continue;
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

#include "text/pre_tokenizer.h"

#include <utility>

namespace kvasir::text {
namespace {

struct Piece {
  Range range;
  bool matched = false;
};

std::vector<Piece> find_pieces(const SplitStep& step, std::string_view text) {
  std::vector<Piece> pieces;
  Regex::Search search(step.pattern, text);
  std::size_t at = 0;
  while (const auto match = search.next()) {
    if (match->begin > at) pieces.push_back({{at, match->begin}, step.invert});
    pieces.push_back({*match, !step.invert});
    at = match->end;
  }
  if (at < text.size()) pieces.push_back({{at, text.size()}, step.invert});
  return pieces;
}

// Whether `next` continues the piece before it instead of beginning its own.
bool joins(const Piece& previous, const Piece& next, SplitBehavior behavior) {
  switch (behavior) {
    case SplitBehavior::isolated:
    case SplitBehavior::removed:
      return false;
    case SplitBehavior::merged_with_previous:
      return next.matched && !previous.matched;
    case SplitBehavior::merged_with_next:
      return !next.matched && previous.matched;
    case SplitBehavior::contiguous:
      return next.matched == previous.matched;
  }
  return false;
}

void split_one(const SplitStep& step, std::string_view text, std::vector<std::string_view>& out) {
  const std::vector<Piece> pieces = find_pieces(step, text);
  Range open;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (step.behavior == SplitBehavior::removed && pieces[i].matched) continue;
    if (i > 0 && joins(pieces[i - 1], pieces[i], step.behavior)) {
      open.end = pieces[i].range.end;
      out.back() = text.substr(open.begin, open.end - open.begin);
      continue;
    }
    open = pieces[i].range;
    out.push_back(text.substr(open.begin, open.end - open.begin));
  }
}

}  // namespace

void PreTokenizer::split(std::string_view text, std::vector<std::string_view>& pieces) const {
  pieces.clear();
  if (text.empty()) return;
  pieces.push_back(text);
  std::vector<std::string_view> next;
  for (const SplitStep& step : steps_) {
    next.clear();
    for (const std::string_view piece : pieces) split_one(step, piece, next);
    pieces.swap(next);
  }
}

}  // namespace kvasir::text

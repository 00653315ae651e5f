#include "text/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <utility>

namespace kvasir::text {
namespace {

struct Part {
  Range range;
  bool matched = false;
};

std::vector<Part> find_parts(const SplitStep& step, std::string_view text) {
  std::vector<Part> parts;
  std::size_t at = 0;
  step.pattern.for_each_match(text, [&](Range match) {
    if (match.begin > at) parts.push_back({{at, match.begin}, step.invert});
    parts.push_back({match, !step.invert});
    at = match.end;
  });
  if (at < text.size()) parts.push_back({{at, text.size()}, step.invert});
  return parts;
}

// Whether `next` continues the previous piece instead of beginning its own.
bool joins(const Part& previous, const Part& next, SplitBehavior behavior) {
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

}  // namespace

void PreTokenizer::add(Step step) {
  steps_.push_back(std::move(step));
}

const Scanner* PreTokenizer::only_scanner() const {
  const auto* step = steps_.size() == 1 ? std::get_if<SplitStep>(steps_.data()) : nullptr;
  if (step == nullptr) return nullptr;
  const bool keeps_matches = step->behavior == SplitBehavior::isolated && !step->invert;
  const bool drops_the_rest = step->behavior == SplitBehavior::removed && step->invert;
  return keeps_matches || drops_the_rest ? step->pattern.covering_scanner() : nullptr;
}

PreTokenizer::Pieces PreTokenizer::split(std::string_view text, Place place) const {
  Pieces result;
  result.rewritten.resize(steps_.size());
  result.pieces.push_back({text, place});
  std::vector<Piece> next;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (const auto* step = std::get_if<SplitStep>(&steps_[i])) {
      next.clear();
      run(*step, result.pieces, next);
      result.pieces.swap(next);
    } else if (const auto* mark = std::get_if<SpaceMarkStep>(&steps_[i])) {
      run(*mark, result.pieces, result.rewritten[i]);
    } else {
      run(std::get<PrefixSpaceStep>(steps_[i]), result.pieces, result.rewritten[i]);
    }
  }
  return result;
}

void PreTokenizer::run(const SplitStep& step, const std::vector<Piece>& from, std::vector<Piece>& to) {
  for (const Piece& piece : from) split_piece(step, piece, to);
}

void PreTokenizer::split_piece(const SplitStep& step, const Piece& piece, std::vector<Piece>& to) {
  const std::vector<Part> parts = find_parts(step, piece.text);
  Range open;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (step.behavior == SplitBehavior::removed && parts[i].matched) continue;
    if (i > 0 && joins(parts[i - 1], parts[i], step.behavior)) {
      open.end = parts[i].range.end;
      to.back().text = piece.text.substr(open.begin, open.end - open.begin);
      continue;
    }
    open = parts[i].range;
    to.push_back({piece.text.substr(open.begin, open.end - open.begin),
                  open.begin == 0 ? piece.place : Place::inside});
  }
}

void PreTokenizer::run(const PrefixSpaceStep&, std::vector<Piece>& pieces, std::string& rewritten) {
  std::size_t size = 0;
  for (const Piece& piece : pieces) size += piece.text.size() + 1;
  rewritten.reserve(size);  // so that views into it stay valid
  for (Piece& piece : pieces) {
    const std::size_t begin = rewritten.size();
    if (!piece.text.starts_with(' ')) rewritten += ' ';
    rewritten += piece.text;
    piece.text = std::string_view(rewritten).substr(begin);
  }
}

void PreTokenizer::run(const SpaceMarkStep& step, std::vector<Piece>& pieces, std::string& rewritten) {
  std::vector<std::pair<Range, Place>> ranges;
  const auto close = [&](std::size_t begin, Place place) {
    if (rewritten.size() > begin) ranges.push_back({{begin, rewritten.size()}, place});
  };
  for (const Piece& piece : pieces) {
    std::size_t begin = rewritten.size();
    const bool marked = piece.text.starts_with(' ') || piece.text.starts_with(step.mark);
    const bool prefixed = step.prefix == SpaceMarkStep::Prefix::always ||
                          (step.prefix == SpaceMarkStep::Prefix::first && piece.place == Place::start);
    if (prefixed && !marked) rewritten += step.mark;
    Place place = piece.place;
    for (std::size_t at = 0; at < piece.text.size();) {
      const bool space = piece.text[at] == ' ';
      const bool mark = space || piece.text.substr(at).starts_with(step.mark);
      if (mark && step.split && rewritten.size() > begin) {
        close(begin, place);
        begin = rewritten.size();
        place = Place::inside;
      }
      if (mark) {
        rewritten += step.mark;
        at += space ? 1 : step.mark.size();
      } else {
        rewritten += piece.text[at++];
      }
    }
    close(begin, place);
  }
  pieces.clear();
  for (const auto& [range, place] : ranges)
    pieces.push_back({std::string_view(rewritten).substr(range.begin, range.end - range.begin), place});
}

}  // namespace kvasir::text

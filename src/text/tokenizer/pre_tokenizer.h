#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/pattern.h"

namespace kvasir::text {

// What happens to a match when text is split at it. The names are Hugging Face's.
enum class SplitBehavior { isolated, removed, merged_with_previous, merged_with_next, contiguous };

struct SplitStep {
  Pattern pattern;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;  // matches and the text between them swap roles
};

// Puts a space before a piece that does not begin with one.
struct PrefixSpaceStep {};

// Replaces spaces as sentencepiece does: each becomes a mark, and pieces begin with a mark.
struct SpaceMarkStep {
  enum class Prefix { never, first, always };  // first: only at the beginning of the text
  std::string mark;
  Prefix prefix = Prefix::always;
  bool split = true;  // also split before each mark
};

// Splits text into words that merges never cross. Each step splits or rewrites the pieces of the step before.
class PreTokenizer {
 public:
  using Step = std::variant<SplitStep, PrefixSpaceStep, SpaceMarkStep>;
  // Whether a piece is at the beginning of the whole text.
  enum class Place { start, inside };

  void add(Step step);
  std::size_t num_steps() const { return steps_.size(); }

  // Calls f(word) for each word, in order, as long as f returns true. `text` is valid UTF-8. Words are never
  // empty.
  template <class F>
  void for_each_word(std::string_view text, Place place, const F& f) const;

 private:
  struct Piece {
    std::string_view text;
    Place place = Place::inside;
  };
  struct Pieces {
    std::vector<Piece> pieces;
    std::vector<std::string> rewritten;  // [steps]: texts that pieces point into
  };

  Pieces split(std::string_view text, Place place) const;
  static void run(const SplitStep& step, const std::vector<Piece>& from, std::vector<Piece>& to);
  static void run(const PrefixSpaceStep& step, std::vector<Piece>& pieces, std::string& rewritten);
  static void run(const SpaceMarkStep& step, std::vector<Piece>& pieces, std::string& rewritten);
  static void split_piece(const SplitStep& step, const Piece& piece, std::vector<Piece>& to);

  std::vector<Step> steps_;
  const Scanner* only_scanner() const;
};

template <class F>
void PreTokenizer::for_each_word(std::string_view text, Place place, const F& f) const {
  if (text.empty()) return;
  if (steps_.empty()) {
    f(text);
    return;
  }
  if (const Scanner* scanner = only_scanner()) {
    const char* end = text.data() + text.size();
    for (const char* at = text.data(); at < end;) {
      const char* behind = scanner->match(at, end);
      if (!f(std::string_view(at, static_cast<std::size_t>(behind - at)))) return;
      at = behind;
    }
    return;
  }
  for (const Pieces pieces = split(text, place); const Piece& piece : pieces.pieces) {
    if (!f(piece.text)) return;
  }
}

// Adds BERT's rules: white space is removed, and each punctuation mark is a piece of its own.
void add_bert_splits(PreTokenizer& pre_tokenizer);

// How text is prepared under a name in GGUF's `tokenizer.ggml.pre`.
struct Preparation {
  std::vector<NormalizerStep> normalizer;
  PreTokenizer pre_tokenizer;
  bool ignore_merges = false;  // a word that is a token becomes that token
};
base::Result<Preparation> preparation_named(std::string_view pre);

}  // namespace kvasir::text

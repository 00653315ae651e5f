#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/normalizer.h"
#include "text/regex.h"

namespace kvasir::text {

// What becomes of a match when text is split at it; the names are Hugging Face's.
enum class SplitBehavior { isolated, removed, merged_with_previous, merged_with_next, contiguous };

struct SplitStep {
  Regex pattern;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;  // what lies between the matches takes the matches' part
};

// Cuts text into the words that a model's merges never cross: each step cuts the pieces of the one before.
class PreTokenizer {
 public:
  void add(SplitStep step) { steps_.push_back(std::move(step)); }
  // `text` is valid UTF-8 and must outlive the pieces. No piece is empty.
  void split(std::string_view text, std::vector<std::string_view>& pieces) const;

 private:
  std::vector<SplitStep> steps_;
};

// The patterns of ByteLevel and Digits as Hugging Face defines them.
inline constexpr const char* kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr const char* kDigitPattern = R"(\p{N})";

// BERT's: white space goes, and each punctuation mark stands alone.
base::Status add_bert_splits(PreTokenizer& pre_tokenizer);

// How GGUF's `tokenizer.ggml.pre` names a way to prepare text.
struct Preparation {
  std::vector<NormalizerStep> normalizer;
  PreTokenizer pre_tokenizer;
  bool ignore_merges = false;  // a word that is a token is taken whole
};
base::Result<Preparation> preparation_named(std::string_view pre);

}  // namespace kvasir::text

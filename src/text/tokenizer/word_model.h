#pragma once

#include <cstdint>
#include <stop_token>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "text/tokenizer/word_cache.h"

namespace kvasir::text {

// Buffers that are reused from word to word. Used by one caller at a time.
struct Workspace {
  struct Symbol {
    TokenId id = 0;  // -1: merged into the symbol before
    std::uint32_t next = 0;
    std::uint32_t previous = 0;
  };
  // Two neighbouring symbols that may merge: the position of the left one, and the position after the right
  // one. If `end` is no longer the position after the right symbol, one of the two has changed.
  struct Candidate {
    std::uint32_t left = 0;
    std::uint32_t end = 0;
    TokenId result = 0;
  };
  // The candidates of one rank, which are taken from left to right.
  struct Bucket {
    std::vector<Candidate> candidates;
    std::size_t taken = 0;
    bool sorted = true;
    bool is_heap = false;  // some were added while candidates were being taken
  };
  // The best spelling of a word up to one of its bytes.
  struct Best {
    double score = 0;
    std::int32_t start = -1;  // where the last token begins; -1: no spelling found yet
    TokenId id = -1;
  };

  std::vector<Symbol> symbols;
  std::vector<Symbol> merged;
  std::vector<Bucket> buckets;
  std::vector<std::int32_t> free_buckets;
  std::vector<std::int32_t> bucket_of_rank;  // -1: none
  std::vector<std::uint32_t> ranks;          // a heap of the ranks that have buckets
  std::vector<Best> best;
  std::vector<TokenId> tokens;
  WordCache cache;
  std::stop_token stop;  // once requested, a long word may be left unfinished
};

// Encodes one word with a vocabulary. Immutable, so any thread may use it.
class WordModel {
 public:
  virtual ~WordModel() = default;
  // Appends the word's tokens to `out`.
  virtual void encode(std::string_view word, Workspace& work, std::vector<TokenId>& out) const = 0;
};

}  // namespace kvasir::text

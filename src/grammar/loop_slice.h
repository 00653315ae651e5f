#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "grammar/byte_set.h"
#include "grammar/token_trie.h"

namespace kvasir::grammar {

// The results of one walk over the vocabulary for loops over one body: which tokens are wholly inside a loop
// (and how many passes they make), and where in the trie a token may leave it. They hold for every state and
// every count of every such loop, whatever its bounds. Without them, each character of a `maxLength` string
// would need a walk.
struct LoopSlice {
  struct Inside {
    TokenId token;
    std::uint32_t passes;  // passes that the token begins; the last may be unfinished
  };
  struct Exit {
    std::uint32_t node;    // reached by a byte that begins no pass
    std::uint32_t passes;  // passes finished before that byte, at least 1
  };

  std::vector<Inside> inside;  // sorted by passes
  std::uint32_t max_passes = 0;
  ByteSet first_bytes;  // bytes that begin a pass
  std::array<std::vector<Exit>, 256> exits;

  // Masks of the tokens in `inside` with at most `limits[i]` passes; empty if `inside` is short.
  std::vector<std::uint32_t> limits;
  std::vector<std::vector<std::uint32_t>> masks;

  // The largest mask of tokens with at most `passes` passes, and the index in `inside` where its tokens end.
  const std::vector<std::uint32_t>* mask_up_to(std::uint32_t passes, std::size_t& covered) const;
  std::size_t num_inside_up_to(std::uint32_t passes) const;
};

LoopSlice make_loop_slice(const TokenTrie& trie, const LoopBody& body);

}  // namespace kvasir::grammar

#include "grammar/loop_slice.h"

#include <algorithm>

namespace kvasir::grammar {
namespace {

// For less than 1/64 of the vocabulary, a list of tokens is smaller than a mask and as fast.
constexpr std::size_t kMinShareOfMask = 64;

struct Position {
  std::uint8_t state;
  std::uint32_t finished;
};

void walk(const TokenTrie& trie, const LoopBody& body, LoopSlice& slice) {
  const auto nodes = trie.nodes();
  std::vector<Position> path(static_cast<std::size_t>(trie.max_depth()) + 1);
  path[0] = {0, 0};
  for (std::uint32_t i = 1; i < nodes.size();) {
    const TokenTrie::Node& node = nodes[i];
    const Position from = path[node.depth - 1];
    const std::uint8_t to = body.next[from.state][node.byte];
    if (to == LoopBody::kDead) {
      if (from.state == 0 && from.finished > 0) slice.exits[node.byte].push_back({i, from.finished});
      i = node.subtree_end;
      continue;
    }
    const bool done = to == LoopBody::kDone;
    const Position at{done ? std::uint8_t{0} : to, from.finished + (done ? 1 : 0)};
    path[node.depth] = at;
    if (node.token >= 0) {
      const std::uint32_t passes = at.finished + (done ? 0 : 1);
      for (TokenId t = node.token; t >= 0; t = trie.twin(t)) slice.inside.push_back({t, passes});
    }
    ++i;
  }
}

}  // namespace

LoopSlice make_loop_slice(const TokenTrie& trie, const LoopBody& body) {
  LoopSlice slice;
  for (int b = 0; b < 256; ++b) {
    if (body.next[0][b] != LoopBody::kDead) slice.first_bytes.add(static_cast<std::uint8_t>(b));
  }
  walk(trie, body, slice);
  std::stable_sort(slice.inside.begin(), slice.inside.end(),
                   [](const auto& a, const auto& b) { return a.passes < b.passes; });
  for (const auto& exits : slice.exits) {
    for (const LoopSlice::Exit& exit : exits) slice.max_passes = std::max(slice.max_passes, exit.passes);
  }
  if (slice.inside.empty()) return slice;
  slice.max_passes = std::max(slice.max_passes, slice.inside.back().passes);
  if (slice.inside.size() < trie.num_tokens() / kMinShareOfMask) return slice;
  std::vector<std::uint32_t> mask(trie.num_mask_words(), 0);
  std::size_t next = 0;
  for (const std::uint32_t limit : {1U, 2U, 3U, 4U, 5U, 6U, 8U, 10U, 12U, 16U, 24U, kUnbounded}) {
    const std::size_t before = next;
    for (; next < slice.inside.size() && slice.inside[next].passes <= limit; ++next) {
      const TokenId token = slice.inside[next].token;
      mask[token / 32] |= 1U << (token % 32);
    }
    if (next == before) continue;
    slice.limits.push_back(slice.inside[next - 1].passes);
    slice.masks.push_back(mask);
  }
  return slice;
}

std::size_t LoopSlice::num_inside_up_to(std::uint32_t passes) const {
  return static_cast<std::size_t>(
      std::upper_bound(inside.begin(), inside.end(), passes,
                       [](std::uint32_t p, const Inside& token) { return p < token.passes; }) -
      inside.begin());
}

const std::vector<std::uint32_t>* LoopSlice::mask_up_to(std::uint32_t passes, std::size_t& covered) const {
  const auto above = std::upper_bound(limits.begin(), limits.end(), passes);
  covered = 0;
  if (above == limits.begin()) return nullptr;
  const auto index = static_cast<std::size_t>(above - limits.begin()) - 1;
  covered = num_inside_up_to(limits[index]);
  return &masks[index];
}

}  // namespace kvasir::grammar

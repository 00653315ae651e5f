#include <algorithm>

#include "grammar/mask_table.h"

// Finds the tokens of states that differ little from a loop over characters.
namespace kvasir::grammar {
namespace {

// A successor is the usual one if at least one part in this many of the vocabulary leads to it. Without such
// a successor, a walk is short anyway.
constexpr std::size_t kMinShareOfUsual = 4;
constexpr int kMaxOtherBytes = 16;
constexpr int kMaxRestOfChar = 3;  // bytes after the first of a character

}  // namespace

ConfigId MaskTable::usual_successor(ConfigId config) {
  const auto nodes = trie_.nodes();
  std::unordered_map<ConfigId, std::size_t> sizes;
  for (std::uint32_t i = 1; i < nodes.size(); i = nodes[i].subtree_end) {
    const ConfigId next = pushdown_.step(config, nodes[i].byte);
    if (next == Pushdown::kFailed) return next;
    if (next != Pushdown::kDead) sizes[next] += nodes[i].subtree_end - i;
  }
  const auto usual = std::ranges::max_element(sizes, {}, [](const auto& entry) { return entry.second; });
  if (usual == sizes.end() || usual->second * kMinShareOfUsual < nodes.size()) return Pushdown::kDead;
  const ConfigId next = usual->first;
  // Both come to the same configuration only if the loop stays in it.
  bool stays = next != config;
  for (std::uint32_t i = 1; i < nodes.size() && stays; i = nodes[i].subtree_end) {
    stays = pushdown_.step(config, nodes[i].byte) != next || pushdown_.step(next, nodes[i].byte) == next;
  }
  stays = stays && is_sliced(next);
  if (pushdown_.failure() != Pushdown::Failure::none) return Pushdown::kFailed;
  return stays ? next : Pushdown::kDead;
}

// Whether some items are in loops that have slices, all without an upper bound.
bool MaskTable::in_endless_loop(std::span<const Item> items) const {
  bool in_loop = false;
  for (const Item& item : items) {
    const std::int32_t id = pushdown_.automaton().state(item.state).loop;
    if (id < 0) continue;
    const Automaton::Loop& loop = pushdown_.automaton().loop(id);
    if (loop.max != kUnbounded || loop.body < 0) return false;
    in_loop = true;
  }
  return in_loop;
}

// Whether the configuration is in a loop that has a slice, and little else.
bool MaskTable::is_sliced(ConfigId config) {
  const std::vector<Item> items(pushdown_.items(config).begin(), pushdown_.items(config).end());
  bool has_loop = false;
  std::vector<Item> others;
  for (const Item& item : items) {
    const std::int32_t loop = pushdown_.automaton().state(item.state).loop;
    const Local* local =
        loop >= 0 && pushdown_.automaton().loop(loop).body >= 0 ? local_of_loop(item) : nullptr;
    if (pushdown_.failure() != Pushdown::Failure::none) return false;
    if (local == nullptr) {
      others.push_back(item);
      continue;
    }
    has_loop = true;
    if (local->loop_exit == nullptr) continue;
    if (item.frame == Pushdown::kBottom) return false;  // where the rule may have ended is not listed
    const ConfigId after = pushdown_.completion(item.frame);
    if (after == Pushdown::kFailed || pushdown_.exits(after)) return false;
  }
  ByteSet bytes;
  for (const Item& item : others) {
    for (const Automaton::ByteEdge& edge : pushdown_.automaton().state(item.state).bytes) {
      bytes |= pushdown_.automaton().byte_set(edge.set);
    }
  }
  return has_loop && bytes.size() <= kMaxOtherBytes;
}

const MaskTable::Local* MaskTable::local_beside(std::span<const Item> items) {
  const ConfigId config = intern_alone(items);
  if (config == Pushdown::kFailed || alone_.contains(config)) return nullptr;
  if (const auto it = state_locals_.find(config); it != state_locals_.end()) return &it->second;
  const ConfigId usual = usual_successor(config);
  if (usual == Pushdown::kDead) alone_.insert(config);
  if (usual == Pushdown::kFailed || usual == Pushdown::kDead) return nullptr;
  const Local* usual_local = local_of_usual(usual);
  Local local;
  if (usual_local == nullptr || !walk_beside(config, *usual_local, usual, local)) return nullptr;
  return keep_local(config, std::move(local));
}

const MaskTable::Local* MaskTable::local_of_usual(ConfigId config) {
  if (const auto it = usual_locals_.find(config); it != usual_locals_.end()) return &it->second;
  Local local;
  in_usual_ = true;
  const bool ok = compute(config, local.mask, &local.exits);
  in_usual_ = false;
  if (!ok) return nullptr;
  std::vector<std::uint32_t> words(trie_.num_mask_words());
  write(local.mask, words);
  local.mask = {.words = std::move(words)};
  std::ranges::sort(local.exits);
  num_bytes_ += local.mask.words.size() * sizeof(std::uint32_t) + local.exits.size() * sizeof(std::uint32_t);
  return &usual_locals_.emplace(config, std::move(local)).first->second;
}

bool MaskTable::will_be_same(ConfigId a, ConfigId b, int max_bytes) {
  if (a == b) return true;
  if (max_bytes == 0 || a == Pushdown::kDead || b == Pushdown::kDead) return false;
  if (pushdown_.exits(a) || pushdown_.exits(b)) return false;
  const auto [it, is_new] = same_.try_emplace((std::uint64_t{a} << 32) | b, false);
  if (!is_new) return it->second;
  bool same = true;
  for (int cls = 0; cls < pushdown_.automaton().num_classes() && same; ++cls) {
    const std::uint8_t byte = pushdown_.automaton().byte_of_class(cls);
    const ConfigId next_a = pushdown_.step(a, byte);
    const ConfigId next_b = pushdown_.step(b, byte);
    const bool failed = next_a == Pushdown::kFailed || next_b == Pushdown::kFailed;
    same = !failed && will_be_same(next_a, next_b, max_bytes - 1);
  }
  same_[(std::uint64_t{a} << 32) | b] = same;
  return same;
}

bool MaskTable::walk_beside(ConfigId config, const Local& usual_local, ConfigId usual, Local& local) {
  const auto nodes = trie_.nodes();
  std::vector<std::uint32_t>& words = local.mask.words = usual_local.mask.words;
  path_.resize(static_cast<std::size_t>(trie_.max_depth()) + 1);
  usual_path_.resize(path_.size());
  path_[0] = config;
  usual_path_[0] = usual;
  auto usual_exit = usual_local.exits.begin();
  // Keeps the usual exits before `begin`, and drops those from `begin` up to `end`.
  const auto drop_exits = [&](std::uint32_t begin, std::uint32_t end) {
    for (; usual_exit != usual_local.exits.end() && *usual_exit < end; ++usual_exit) {
      if (*usual_exit < begin) local.exits.push_back(*usual_exit);
    }
  };
  std::int64_t steps = 0;
  for (std::uint32_t i = 1; i < nodes.size(); ++steps) {
    if ((steps & 1023) == 1023 && !pushdown_.spend(2048)) return false;
    const TokenTrie::Node& at = nodes[i];
    const ConfigId next = pushdown_.step(path_[at.depth - 1], at.byte);
    const ConfigId expected = pushdown_.step(usual_path_[at.depth - 1], at.byte);
    if (next == Pushdown::kFailed || expected == Pushdown::kFailed) return false;
    if (will_be_same(next, expected, kMaxRestOfChar)) {
      i = at.subtree_end;
      continue;
    }
    const bool dead = next == Pushdown::kDead;
    const std::uint32_t end = dead ? at.subtree_end : i + 1;
    drop_exits(i, end);
    for (std::uint32_t node = i; node < end; ++node) {
      for (TokenId t = nodes[node].token; t >= 0; t = trie_.twin(t)) {
        const std::uint32_t bit = 1U << (t % 32);
        words[t / 32] = dead ? words[t / 32] & ~bit : words[t / 32] | bit;
      }
    }
    if (!dead && i + 1 != at.subtree_end && pushdown_.exits(next)) local.exits.push_back(i);
    path_[at.depth] = next;
    usual_path_[at.depth] = expected;
    i = end;
  }
  local.exits.insert(local.exits.end(), usual_exit, usual_local.exits.end());
  return pushdown_.spend(2 * (steps & 1023));
}

}  // namespace kvasir::grammar

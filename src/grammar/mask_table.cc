#include "grammar/mask_table.h"

#include <algorithm>
#include <cstring>

namespace kvasir::grammar {
namespace {

std::size_t bytes_of(const MaskTable::Mask& mask) {
  return 128 + mask.slices.size() * sizeof(void*) + mask.words.size() * sizeof(std::uint32_t) +
         mask.tokens.size() * sizeof(TokenId);
}

}  // namespace

const MaskTable::Mask* MaskTable::find(ConfigId config) {
  if (const auto it = masks_.find(config); it != masks_.end()) return &it->second;
  make_room();
  Mask mask;
  if (!compute(config, mask, nullptr)) return nullptr;
  compact(mask);
  num_bytes_ += bytes_of(mask);
  return &masks_.emplace(config, std::move(mask)).first->second;
}

void MaskTable::warm_up() {
  const Automaton& automaton = pushdown_.automaton();
  for (RuleId rule = 0; rule < automaton.num_rules() && num_bytes_ < max_bytes_ / 8; ++rule) {
    std::vector<Item> items;
    for (const Automaton::StartItem& item : automaton.rule(rule).start_items) {
      items.push_back({item.state, item.count, Pushdown::kBottom});
    }
    Mask mask;
    Exits exits;
    if (!items.empty() && !add_frame(items, mask, &exits)) return;
  }
}

void MaskTable::write(const Mask& mask, std::span<std::uint32_t> bits) const {
  const std::size_t num_words = trie_.num_mask_words();
  CHECK(bits.size() >= num_words, "a mask of {} words for {}", bits.size(), num_words);
  std::size_t i = 0;
  if (!mask.words.empty()) {
    std::copy(mask.words.begin(), mask.words.end(), bits.begin());
  } else if (!mask.slices.empty()) {
    std::copy(mask.slices[0]->begin(), mask.slices[0]->end(), bits.begin());
    i = 1;
  } else {
    std::fill(bits.begin(), bits.begin() + static_cast<std::ptrdiff_t>(num_words), 0);
  }
  std::fill(bits.begin() + static_cast<std::ptrdiff_t>(num_words), bits.end(), 0);
  for (; i < mask.slices.size(); ++i) {
    const std::uint32_t* slice = mask.slices[i]->data();
    for (std::size_t w = 0; w < num_words; ++w) bits[w] |= slice[w];
  }
  for (const TokenId token : mask.tokens) bits[token / 32] |= 1U << (token % 32);
}

bool MaskTable::compute(ConfigId config, Mask& mask, Exits* exits) {
  std::vector<Item> items(pushdown_.items(config).begin(), pushdown_.items(config).end());
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return a.frame < b.frame; });
  for (std::size_t begin = 0; begin < items.size();) {
    std::size_t end = begin;
    while (end < items.size() && items[end].frame == items[begin].frame) ++end;
    if (!add_frame(std::span(items).subspan(begin, end - begin), mask, exits)) return false;
    begin = end;
  }
  return true;
}

bool MaskTable::add_frame(std::span<const Item> items, Mask& mask, Exits* exits) {
  if (!in_usual_ && in_endless_loop(items)) {
    const Local* local = local_beside(items);
    if (pushdown_.failure() != Pushdown::Failure::none) return false;
    if (local != nullptr) return add_local(*local, items, mask, exits);
  }
  std::vector<Item> rest;
  for (const Item& item : items) {
    const std::int32_t loop = pushdown_.automaton().state(item.state).loop;
    const bool is_sliced = loop >= 0 && pushdown_.automaton().loop(loop).body >= 0;
    const Local* local = is_sliced ? local_of_loop(item) : nullptr;
    if (pushdown_.failure() != Pushdown::Failure::none) return false;
    if (local == nullptr) {
      rest.push_back(item);
    } else if (!add_local(*local, {&item, 1}, mask, exits)) {
      return false;
    }
  }
  if (rest.empty()) return true;
  const Local* local = local_of_states(rest);
  return local != nullptr && add_local(*local, rest, mask, exits);
}

bool MaskTable::add_local(const Local& local, std::span<const Item> items, Mask& mask, Exits* exits) {
  mask.slices.insert(mask.slices.end(), local.mask.slices.begin(), local.mask.slices.end());
  mask.tokens.insert(mask.tokens.end(), local.mask.tokens.begin(), local.mask.tokens.end());
  if (!local.mask.words.empty()) {
    if (mask.words.empty()) {
      mask.words = local.mask.words;
    } else {
      for (std::size_t i = 0; i < mask.words.size(); ++i) mask.words[i] |= local.mask.words[i];
    }
  }
  const FrameId frame = items[0].frame;
  if (frame == Pushdown::kRoot || (local.exits.empty() && local.loop_exit == nullptr)) return true;
  if (frame == Pushdown::kBottom) {
    exits->insert(exits->end(), local.exits.begin(), local.exits.end());
    return true;
  }
  const ConfigId after = pushdown_.completion(frame);
  if (after == Pushdown::kFailed) return false;
  const bool ends = exits != nullptr && pushdown_.exits(after);
  for (const std::uint32_t node : local.exits) {
    if (ends) exits->push_back(node);
    if (!walk(node, after, mask, exits)) return false;
  }
  if (local.loop_exit == nullptr) return true;
  if (pushdown_.first_bytes(after).intersects(local.loop_exit->first_bytes)) {
    // The caller may continue with the same bytes as the loop, so the whole vocabulary must be walked.
    const ConfigId whole = pushdown_.intern(items);
    return whole != Pushdown::kFailed && walk(0, whole, mask, exits);
  }
  Local leaving;
  leaving.loop_exit = local.loop_exit;
  leaving.min_passes = local.min_passes;
  leaving.max_passes = local.max_passes;
  return leave_loop(after, leaving, mask, exits);
}

ConfigId MaskTable::intern_alone(std::span<const Item> items) {
  std::vector<Item> alone(items.begin(), items.end());
  for (Item& item : alone) item.frame = Pushdown::kBottom;
  return pushdown_.intern(alone);
}

const MaskTable::Local* MaskTable::keep_local(ConfigId config, Local local) {
  compact(local.mask);
  num_bytes_ += bytes_of(local.mask) + local.exits.size() * sizeof(local.exits[0]);
  return &state_locals_.emplace(config, std::move(local)).first->second;
}

const MaskTable::Local* MaskTable::local_of_states(std::span<const Item> items) {
  if (!in_usual_) {
    const Local* local = local_beside(items);
    if (local != nullptr || pushdown_.failure() != Pushdown::Failure::none) return local;
  }
  const ConfigId config = intern_alone(items);
  if (config == Pushdown::kFailed) return nullptr;
  if (const auto it = state_locals_.find(config); it != state_locals_.end()) return &it->second;
  Local local;
  if (!walk(0, config, local.mask, &local.exits)) return nullptr;
  return keep_local(config, std::move(local));
}

const MaskTable::Local* MaskTable::local_of_loop(const Item& item) {
  const Automaton& automaton = pushdown_.automaton();
  const Automaton::Loop& loop = automaton.loop(automaton.state(item.state).loop);
  const LoopSlice& slice = slice_of(loop.body);
  const std::uint32_t far = slice.max_passes + 1;  // all bounds beyond the longest token are equivalent
  const std::uint32_t needed = loop.min > item.count ? loop.min - item.count : 1;
  const std::uint32_t left = loop.max == kUnbounded ? far : loop.max - item.count;
  const LoopKey key{item.state, std::min(needed, far), std::min(left, far)};
  if (const auto it = loop_locals_.find(key); it != loop_locals_.end()) return it->second.get();
  auto local = std::make_unique<Local>();
  local->min_passes = key.min_passes;
  local->max_passes = key.max_passes;
  const bool fits = compute_loop(item, slice, *local);
  if (pushdown_.failure() != Pushdown::Failure::none) return nullptr;
  if (!fits) local.reset();
  if (local) num_bytes_ += bytes_of(local->mask) + local->exits.size() * sizeof(local->exits[0]);
  return (loop_locals_[key] = std::move(local)).get();
}

// False if the text after the loop may begin like one more pass.
bool MaskTable::compute_loop(const Item& item, const LoopSlice& slice, Local& local) {
  const Automaton& automaton = pushdown_.automaton();
  const Item after{automaton.loop(automaton.state(item.state).loop).follow, 0, Pushdown::kBottom};
  const ConfigId follow = pushdown_.close({&after, 1});
  if (follow == Pushdown::kFailed || pushdown_.first_bytes(follow).intersects(slice.first_bytes))
    return false;
  std::size_t covered = 0;
  if (const auto* mask = slice.mask_up_to(local.max_passes, covered)) local.mask.slices.push_back(mask);
  const std::size_t end = slice.num_inside_up_to(local.max_passes);
  for (std::size_t i = covered; i < end; ++i) local.mask.tokens.push_back(slice.inside[i].token);
  local.loop_exit = &slice;
  if (!leave_loop(follow, local, local.mask, &local.exits)) return false;
  if (!pushdown_.exits(follow)) local.loop_exit = nullptr;
  return true;
}

// Follows the tokens that make enough passes and then continue with `config`, which cannot begin like a pass.
bool MaskTable::leave_loop(ConfigId config, Local& local, Mask& mask, Exits* exits) {
  bool ok = true;
  pushdown_.first_bytes(config).for_each([&](std::uint8_t byte) {
    if (!ok) return;
    const ConfigId next = pushdown_.step(config, byte);
    ok = next != Pushdown::kFailed;
    for (const LoopSlice::Exit& exit : local.loop_exit->exits[byte]) {
      if (!ok) return;
      if (exit.passes < local.min_passes || exit.passes > local.max_passes) continue;
      ok = pushdown_.spend(2) && enter(exit.node, next, mask, exits);
    }
  });
  return ok;
}

const LoopSlice& MaskTable::slice_of(std::int32_t body) {
  if (slices_.size() <= static_cast<std::size_t>(body)) slices_.resize(static_cast<std::size_t>(body) + 1);
  auto& slice = slices_[body];
  if (!slice) slice = trie_.slice(pushdown_.automaton().body(body));
  return *slice;
}

bool MaskTable::enter(std::uint32_t node, ConfigId config, Mask& mask, Exits* exits) {
  const TokenTrie::Node& at = trie_.nodes()[node];
  if (at.token >= 0) add_token(at.token, mask);
  if (node + 1 == at.subtree_end) return true;
  if (exits != nullptr && pushdown_.exits(config)) exits->push_back(node);
  return walk(node, config, mask, exits);
}

bool MaskTable::walk(std::uint32_t node, ConfigId config, Mask& mask, Exits* exits) {
  const auto nodes = trie_.nodes();
  const std::size_t base = nodes[node].depth;
  path_.resize(static_cast<std::size_t>(trie_.max_depth()) + 1);
  path_[base] = config;
  const std::uint32_t end = nodes[node].subtree_end;
  std::int64_t steps = 0;
  for (std::uint32_t i = node + 1; i < end; ++steps) {
    if ((steps & 1023) == 1023 && !pushdown_.spend(1024)) return false;
    const TokenTrie::Node& at = nodes[i];
    const ConfigId next = pushdown_.step(path_[at.depth - 1], at.byte);
    if (next == Pushdown::kDead) {
      i = at.subtree_end;
      continue;
    }
    if (next == Pushdown::kFailed) return false;
    path_[at.depth] = next;
    if (at.token >= 0) add_token(at.token, mask);
    if (exits != nullptr && i + 1 != at.subtree_end && pushdown_.exits(next)) exits->push_back(i);
    ++i;
  }
  return pushdown_.spend(steps & 1023);
}

void MaskTable::add_token(TokenId token, Mask& mask) const {
  for (; token >= 0; token = trie_.twin(token)) mask.tokens.push_back(token);
}

// Turns many single tokens into words of bits.
void MaskTable::compact(Mask& mask) const {
  std::sort(mask.slices.begin(), mask.slices.end());
  mask.slices.erase(std::unique(mask.slices.begin(), mask.slices.end()), mask.slices.end());
  if (mask.tokens.size() > trie_.num_mask_words() || !mask.words.empty()) {
    mask.words.resize(trie_.num_mask_words(), 0);
    for (const TokenId token : mask.tokens) mask.words[token / 32] |= 1U << (token % 32);
    mask.tokens.clear();
  }
  mask.tokens.shrink_to_fit();
}

void MaskTable::make_room() {
  if (num_bytes_ <= max_bytes_) return;
  masks_.clear();
  state_locals_.clear();
  usual_locals_.clear();
  same_.clear();
  alone_.clear();
  loop_locals_.clear();
  num_bytes_ = 0;
}

}  // namespace kvasir::grammar

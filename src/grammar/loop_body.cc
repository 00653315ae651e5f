#include "grammar/loop_body.h"

#include <algorithm>
#include <map>
#include <vector>

namespace kvasir::grammar {
namespace {

constexpr std::size_t kMaxStates = 200;
constexpr std::size_t kMaxPositions = 4000;

// A node unfolded into states that have either one byte edge or up to two empty edges.
struct Unfolded {
  struct State {
    ByteSet bytes;
    std::uint32_t target = 0;
    std::vector<std::uint32_t> empty;
  };

  const Grammar& grammar;
  std::vector<State> states;
  bool too_large = false;

  std::uint32_t add() {
    if (states.size() > kMaxPositions) too_large = true;
    if (!too_large) states.emplace_back();
    return static_cast<std::uint32_t>(states.size() - 1);
  }

  std::uint32_t step(std::uint32_t from, const ByteSet& set) {
    const std::uint32_t at = add();
    const std::uint32_t to = add();
    states[from].empty.push_back(at);
    states[at].bytes = set;
    states[at].target = to;
    return to;
  }

  std::uint32_t unfold(NodeId id, std::uint32_t from) {
    if (too_large) return from;
    const Grammar::Node& node = grammar.node(id);
    switch (node.kind) {
      case Grammar::Kind::bytes:
        return step(from, node.bytes);
      case Grammar::Kind::literal:
        for (const char c : node.literal) {
          from = step(from, ByteSet::range(static_cast<std::uint8_t>(c), static_cast<std::uint8_t>(c)));
        }
        return from;
      case Grammar::Kind::sequence:
        for (const NodeId child : node.children) from = unfold(child, from);
        return from;
      case Grammar::Kind::choice: {
        const std::uint32_t end = add();
        for (const NodeId child : node.children) {
          const std::uint32_t done = unfold(child, from);
          if (!too_large) states[done].empty.push_back(end);
        }
        return end;
      }
      case Grammar::Kind::repeat: {  // only optional ones; longer ones were excluded
        const std::uint32_t end = add();
        const std::uint32_t done = unfold(node.children[0], from);
        if (!too_large) {
          states[done].empty.push_back(end);
          states[from].empty.push_back(end);
        }
        return end;
      }
      case Grammar::Kind::reference:
        break;
    }
    CHECK(false, "a loop body with a reference");
  }

  // The byte positions and the end that are reachable from `seeds` without a byte.
  std::vector<std::uint32_t> close(std::vector<std::uint32_t> seeds, std::uint32_t end) const {
    std::vector<bool> seen(states.size(), false);
    std::vector<std::uint32_t> closed;
    while (!seeds.empty()) {
      const std::uint32_t s = seeds.back();
      seeds.pop_back();
      if (seen[s]) continue;
      seen[s] = true;
      if (s == end || !states[s].bytes.empty()) closed.push_back(s);
      seeds.insert(seeds.end(), states[s].empty.begin(), states[s].empty.end());
    }
    std::sort(closed.begin(), closed.end());
    return closed;
  }
};

// Drops states that cannot reach the end of the pass. False if the start cannot.
bool prune(LoopBody& body) {
  std::vector<bool> alive(body.next.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < alive.size(); ++i) {
      if (alive[i]) continue;
      alive[i] = std::any_of(body.next[i].begin(), body.next[i].end(), [&](std::uint8_t to) {
        return to == LoopBody::kDone || (to != LoopBody::kDead && alive[to]);
      });
      changed |= alive[i];
    }
  }
  for (auto& row : body.next) {
    for (std::uint8_t& to : row) {
      if (to < LoopBody::kDone && !alive[to]) to = LoopBody::kDead;
    }
  }
  return alive[0];
}

}  // namespace

std::optional<LoopBody> make_loop_body(const Grammar& grammar, NodeId node) {
  Unfolded nfa{grammar, {}};
  const std::uint32_t start = nfa.add();
  const std::uint32_t end = nfa.unfold(node, start);
  if (nfa.too_large) return std::nullopt;

  LoopBody body;
  std::map<std::vector<std::uint32_t>, std::uint8_t> ids;
  std::vector<std::vector<std::uint32_t>> sets;
  const auto state_of = [&](std::vector<std::uint32_t> set) -> std::optional<std::uint8_t> {
    if (set.empty()) return LoopBody::kDead;
    if (std::binary_search(set.begin(), set.end(), end)) {
      if (set.size() > 1) return std::nullopt;  // the pass could end here or go on, so it is not prefix-free
      return LoopBody::kDone;
    }
    const auto [it, is_new] = ids.try_emplace(set, static_cast<std::uint8_t>(sets.size()));
    if (is_new && sets.size() >= kMaxStates) return std::nullopt;
    if (is_new) sets.push_back(std::move(set));
    return it->second;
  };
  if (state_of(nfa.close({start}, end)) != 0) return std::nullopt;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    body.next.emplace_back().fill(LoopBody::kDead);
    std::map<std::vector<std::uint32_t>, std::uint8_t> known;  // most bytes lead to few different sets
    for (int b = 0; b < 256; ++b) {
      std::vector<std::uint32_t> targets;
      for (const std::uint32_t s : sets[i]) {
        if (nfa.states[s].bytes.has(static_cast<std::uint8_t>(b))) targets.push_back(nfa.states[s].target);
      }
      auto it = known.find(targets);
      if (it == known.end()) {
        const auto to = state_of(nfa.close(targets, end));
        if (!to) return std::nullopt;
        it = known.emplace(std::move(targets), *to).first;
      }
      body.next[i][b] = it->second;
    }
  }
  if (!prune(body)) return std::nullopt;
  return body;
}

int num_first_bytes(const LoopBody& body) {
  return static_cast<int>(std::count_if(body.next[0].begin(), body.next[0].end(),
                                        [](std::uint8_t to) { return to != LoopBody::kDead; }));
}

}  // namespace kvasir::grammar

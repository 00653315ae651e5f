#include <algorithm>
#include <set>
#include <utility>

#include "grammar/automaton_builder.h"

// Computations that need all states.
namespace kvasir::grammar {

// Bypasses states that only lead to another state by an empty edge.
void AutomatonBuilder::skip_transparent_states() {
  const auto resolve = [&](StateId s) {
    for (int hops = 0; hops < 64; ++hops) {
      const State& state = states()[s];
      const bool hands_on = state.bytes.empty() && state.calls.empty() && !state.accept &&
                            state.empty.size() == 1 && state.empty[0].move == Move::plain;
      if (!hands_on) break;
      s = state.empty[0].target;
    }
    return s;
  };
  for (State& state : states()) {
    for (auto& edge : state.bytes) edge.target = resolve(edge.target);
    for (auto& edge : state.empty) edge.target = resolve(edge.target);
    for (auto& call : state.calls) {
      call.back = resolve(call.back);
      call.skip = resolve(call.skip);
    }
  }
  for (Loop& loop : out_->loops_) {
    loop.start = resolve(loop.start);
    loop.follow = resolve(loop.follow);
  }
  for (auto& rule : out_->rules_) rule.start = resolve(rule.start);
  for (State& state : states()) {
    state.final_only = state.accept && state.bytes.empty() && state.calls.empty() && state.empty.empty();
    if (state.final_only) out_->end_state_ = static_cast<StateId>(&state - states().data());
  }
}

void AutomatonBuilder::find_classes() {
  std::array<std::uint32_t, 256> cls{};
  std::uint32_t num_classes = 1;
  for (const ByteSet& set : out_->sets_) {
    std::map<std::pair<std::uint32_t, bool>, std::uint32_t> split;
    std::array<std::uint32_t, 256> next{};
    for (int b = 0; b < 256; ++b) {
      const std::pair key{cls[b], set.has(static_cast<std::uint8_t>(b))};
      next[b] = split.try_emplace(key, static_cast<std::uint32_t>(split.size())).first->second;
    }
    num_classes = static_cast<std::uint32_t>(split.size());
    cls = next;
    if (num_classes == 256) break;
  }
  out_->num_classes_ = static_cast<int>(num_classes);
  for (int b = 255; b >= 0; --b) {
    out_->class_of_[b] = static_cast<std::uint8_t>(cls[b]);
    out_->byte_of_class_[cls[b]] = static_cast<std::uint8_t>(b);
  }
}

void AutomatonBuilder::find_start_items() {
  for (auto& rule : out_->rules_) {
    std::set<std::pair<StateId, std::uint32_t>> seen;
    std::vector<std::pair<StateId, std::uint32_t>> todo{{rule.start, 0}};
    while (!todo.empty()) {
      const auto [s, count] = todo.back();
      todo.pop_back();
      if (!seen.emplace(s, count).second) continue;
      const State& state = states()[s];
      if (!state.bytes.empty()) rule.start_items.push_back({s, count});
      for (const auto& edge : state.empty) {
        std::pair<StateId, std::uint32_t> to;
        if (out_->move(edge, count, to.first, to.second)) todo.push_back(to);
      }
      for (const auto& call : state.calls) {
        rule.start_calls.push_back({call.rule, call.back, count});
        if (out_->rules_[call.rule].nullable) todo.emplace_back(call.skip, count);
      }
    }
  }
}

// Tarjan's strongly connected components over the calls that rules make before any byte, without recursion.
void AutomatonBuilder::find_components() {
  const std::size_t n = out_->rules_.size();
  constexpr std::uint32_t kNew = kUnbounded;
  std::vector<std::uint32_t> index(n, kNew), low(n, 0), next_call(n, 0);
  std::vector<bool> on_stack(n, false);
  std::vector<RuleId> stack, path;
  std::uint32_t counter = 0;
  const auto enter = [&](RuleId r) {
    index[r] = low[r] = counter++;
    stack.push_back(r);
    on_stack[r] = true;
    path.push_back(r);
  };
  for (RuleId root = 0; root < n; ++root) {
    if (index[root] != kNew) continue;
    enter(root);
    while (!path.empty()) {
      const RuleId r = path.back();
      const auto& calls = out_->rules_[r].start_calls;
      if (next_call[r] < calls.size()) {
        const RuleId callee = calls[next_call[r]++].rule;
        if (index[callee] == kNew) {
          enter(callee);
        } else if (on_stack[callee]) {
          low[r] = std::min(low[r], index[callee]);
        }
        continue;
      }
      path.pop_back();
      if (!path.empty()) low[path.back()] = std::min(low[path.back()], low[r]);
      if (low[r] != index[r]) continue;
      auto& component = out_->components_.emplace_back();
      RuleId member = 0;
      do {
        member = stack.back();
        stack.pop_back();
        on_stack[member] = false;
        component.rules.push_back(member);
      } while (member != r);
    }
  }
  std::reverse(out_->components_.begin(), out_->components_.end());  // callers first
  for (std::uint32_t c = 0; c < out_->components_.size(); ++c) {
    for (const RuleId r : out_->components_[c].rules) out_->rules_[r].component = c;
  }
  for (auto& component : out_->components_) {
    for (const RuleId r : component.rules) {
      for (const auto& call : out_->rules_[r].start_calls) {
        if (&out_->components_[out_->rules_[call.rule].component] == &component) component.cyclic = true;
      }
    }
  }
}

}  // namespace kvasir::grammar

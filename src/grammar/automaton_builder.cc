#include "grammar/automaton_builder.h"

#include <algorithm>

#include "grammar/loop_body.h"

namespace kvasir::grammar {
namespace {

constexpr int kMaxDepth = 2000;  // of nested nodes; each needs some stack

}  // namespace

AutomatonBuilder::AutomatonBuilder(const Grammar& grammar, Automaton::Limits limits)
    : grammar_(grammar), limits_(limits), facts_(find_facts(grammar)), out_(std::make_shared<Automaton>()) {}

base::Result<std::shared_ptr<const Automaton>> AutomatonBuilder::build() {
  if (!facts_.productive[grammar_.rule_body(grammar_.root())]) {
    return base::error(base::ErrorCode::invalid_argument, "the grammar matches nothing");
  }
  out_->root_ = rule_of(grammar_.root());
  for (RuleId r = 0; r < rule_bodies_.size() && !too_large_; ++r) {  // further rules are added meanwhile
    const StateId start = add_state();
    out_->rules_[r].start = start;
    const NodeId body = rule_bodies_[r];
    const bool is_repeat = repeat_rules_.contains(body) && repeat_rules_[body] == r;
    const StateId end = is_repeat ? emit_loop(grammar_.node(body), start) : emit(body, start);
    states()[end].accept = true;
  }
  if (too_large_) {
    return base::error(base::ErrorCode::too_large, "the grammar needs more than {} states",
                       limits_.max_states);
  }
  skip_transparent_states();
  find_classes();
  find_start_items();
  find_components();
  return std::shared_ptr<const Automaton>(std::move(out_));
}

StateId AutomatonBuilder::add_state() {
  if (states().size() >= limits_.max_states) {
    too_large_ = true;
    return static_cast<StateId>(states().size() - 1);
  }
  states().emplace_back();
  return static_cast<StateId>(states().size() - 1);
}

void AutomatonBuilder::add_edge(StateId from, const ByteSet& set, StateId to) {
  const auto [it, is_new] = set_ids_.try_emplace(set, static_cast<std::uint32_t>(out_->sets_.size()));
  if (is_new) out_->sets_.push_back(set);
  states()[from].bytes.push_back({it->second, to});
}

RuleId AutomatonBuilder::add_rule(NodeId body, std::size_t nullable) {
  const auto id = static_cast<RuleId>(rule_bodies_.size());
  rule_bodies_.push_back(body);
  out_->rules_.emplace_back();
  out_->rules_.back().nullable = nullable != 0;
  return id;
}

RuleId AutomatonBuilder::rule_of(RuleId grammar_rule) {
  if (const auto it = rule_ids_.find(grammar_rule); it != rule_ids_.end()) return it->second;
  const NodeId body = grammar_.rule_body(grammar_rule);
  return rule_ids_[grammar_rule] = add_rule(body, facts_.rule_nullable[grammar_rule]);
}

RuleId AutomatonBuilder::rule_of_repeat(NodeId id) {
  if (const auto it = repeat_rules_.find(id); it != repeat_rules_.end()) return it->second;
  return repeat_rules_[id] = add_rule(id, facts_.nullable[id]);
}

StateId AutomatonBuilder::emit(NodeId id, StateId from) {
  if (depth_ > kMaxDepth) too_large_ = true;
  if (too_large_) return from;
  const Grammar::Node& node = grammar_.node(id);
  ++depth_;
  StateId end = from;
  switch (node.kind) {
    case Grammar::Kind::bytes:
      end = add_state();
      add_edge(from, node.bytes, end);
      break;
    case Grammar::Kind::literal:
      end = emit_literal(node.literal, from);
      break;
    case Grammar::Kind::sequence:
      for (const NodeId child : node.children) end = emit(child, end);
      break;
    case Grammar::Kind::choice:
      end = emit_choice(node, from);
      break;
    case Grammar::Kind::repeat:
      end = emit_repeat(id, from);
      break;
    case Grammar::Kind::reference:
      end = emit_call(rule_of(node.rule), from);
      break;
  }
  --depth_;
  return end;
}

StateId AutomatonBuilder::emit_literal(std::string_view text, StateId from) {
  StateId at = from;
  for (const char c : text) {
    const StateId next = add_state();
    const auto byte = static_cast<std::uint8_t>(c);
    add_edge(at, ByteSet::range(byte, byte), next);
    at = next;
  }
  return at;
}

StateId AutomatonBuilder::emit_call(RuleId rule, StateId from) {
  const StateId back = add_state();
  states()[from].calls.push_back({rule, back, back});
  return back;
}

StateId AutomatonBuilder::emit_choice(const Grammar::Node& node, StateId from) {
  const StateId end = add_state();
  ByteSet single;
  std::vector<NodeId> words;
  for (const NodeId child : node.children) {
    if (!facts_.productive[child] || too_large_) continue;
    const Grammar::Node& alternative = grammar_.node(child);
    if (alternative.kind == Grammar::Kind::bytes) {
      single |= alternative.bytes;
    } else if (alternative.kind == Grammar::Kind::literal && alternative.literal.size() == 1) {
      single.add(static_cast<std::uint8_t>(alternative.literal[0]));
    } else if (alternative.kind == Grammar::Kind::literal && !alternative.literal.empty()) {
      words.push_back(child);
    } else {
      add_empty(emit(child, from), end);
    }
  }
  if (!single.empty()) add_edge(from, single, end);
  emit_words(words, from, end);
  return end;
}

// Literals share their prefixes, so that a long enum keeps one state alive rather than one for each value.
void AutomatonBuilder::emit_words(const std::vector<NodeId>& literals, StateId from, StateId end) {
  std::map<std::pair<StateId, std::uint8_t>, StateId> children;
  for (const NodeId literal : literals) {
    StateId at = from;
    for (const char c : grammar_.node(literal).literal) {
      const auto byte = static_cast<std::uint8_t>(c);
      const auto [it, is_new] = children.try_emplace({at, byte}, 0);
      if (is_new) {
        it->second = add_state();
        add_edge(at, ByteSet::range(byte, byte), it->second);
      }
      if (too_large_) return;
      at = it->second;
    }
    add_empty(at, end);
  }
}

StateId AutomatonBuilder::emit_repeat(NodeId id, StateId from) {
  const Grammar::Node& node = grammar_.node(id);
  if (!facts_.productive[node.children[0]]) return from;
  if (node.max == 1) {
    const StateId end = add_state();
    add_empty(from, end);
    add_empty(emit(node.children[0], from), end);
    return end;
  }
  if (!in_loop_) return emit_loop(node, from);
  const bool is_counted = node.min > 1 || node.max != kUnbounded;
  // If the body begins with many different bytes, the loop becomes a rule of its own, since it then has a
  // slice.
  const std::int32_t body = is_counted ? -1 : body_of(node.children[0]);
  constexpr int kWide = 40;
  if (!is_counted && (body < 0 || num_first_bytes(*out_->body(body)) < kWide)) return emit_cycle(node, from);
  return emit_call(rule_of_repeat(id), from);
}

StateId AutomatonBuilder::emit_cycle(const Grammar::Node& node, StateId from) {
  const StateId start = add_state();
  const StateId end = add_state();
  add_empty(from, start);
  const StateId done = emit(node.children[0], start);
  add_empty(done, start);
  add_empty(node.min == 0 ? start : done, end);
  return end;
}

StateId AutomatonBuilder::emit_loop(const Grammar::Node& node, StateId from) {
  const NodeId child = node.children[0];
  const bool nullable = facts_.nullable[child];
  const auto id = static_cast<std::uint32_t>(out_->loops_.size());
  out_->loops_.push_back({.min = nullable ? 0 : node.min, .max = node.max});
  const std::int32_t body = body_of(child);
  const StateId follow = add_state();
  StateId start = add_state();
  const bool outer = std::exchange(in_loop_, true);
  StateId end = 0;
  if (body >= 0) {
    end = emit_body_states(*out_->body(body), start);
  } else {
    end = emit(child, start);
    if (end == start) {  // an empty body
      end = add_state();
      add_empty(start, end);
    }
    if (nullable && !too_large_) start = forbid_empty_pass(start, end);
  }
  in_loop_ = outer;
  Loop& loop = out_->loops_[id];
  loop.start = start;
  loop.body = body;
  loop.follow = follow;
  states()[start].loop = static_cast<std::int32_t>(id);
  states()[from].empty.push_back({Move::enter, id, start});
  states()[end].empty.push_back({Move::again, id, start});
  states()[end].empty.push_back({Move::leave, id, follow});
  if (loop.min == 0) add_empty(from, follow);
  return follow;
}

// A pass that consumes nothing would count up without end. So the states [first, ...) are copied, and a pass
// begins in the copy: only a byte leads from the copy to the originals, and so to `end`. Returns the new
// first state.
StateId AutomatonBuilder::forbid_empty_pass(StateId first, StateId end) {
  const auto num_states = static_cast<StateId>(states().size());
  const StateId offset = num_states - first;
  for (StateId s = first; s < num_states; ++s) {
    const StateId copy = add_state();
    if (too_large_) return first;
    states()[copy].bytes = states()[s].bytes;
    for (const Automaton::EmptyEdge& edge : states()[s].empty) {
      if (edge.target != end) add_empty(copy, edge.target + offset);
    }
    for (const Automaton::Call& call : states()[s].calls) {
      states()[copy].calls.push_back({call.rule, call.back, call.skip + offset});
    }
  }
  return first + offset;
}

StateId AutomatonBuilder::emit_body_states(const LoopBody& body, StateId start) {
  std::vector<StateId> ids(body.next.size(), start);
  for (std::size_t i = 1; i < ids.size(); ++i) ids[i] = add_state();
  const StateId end = add_state();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::map<StateId, ByteSet> sets;
    for (int b = 0; b < 256; ++b) {
      const std::uint8_t to = body.next[i][b];
      if (to == LoopBody::kDead) continue;
      sets[to == LoopBody::kDone ? end : ids[to]].add(static_cast<std::uint8_t>(b));
    }
    for (const auto& [to, set] : sets) add_edge(ids[i], set, to);
  }
  return end;
}

std::int32_t AutomatonBuilder::body_of(NodeId id) {
  if (facts_.refers[id] || facts_.repeats[id] || facts_.nullable[id]) return -1;
  // Each body takes time to make and memory for its slice. A grammar with more of them is unusual, and still
  // correct without slices.
  constexpr std::size_t kMaxTries = 1000;
  constexpr std::size_t kMaxBodies = 64;
  if (body_ids_.size() >= kMaxTries && !body_ids_.contains(id)) return -1;
  const auto [it, is_new] = body_ids_.try_emplace(id, -1);
  if (!is_new) return it->second;
  const auto made = make_loop_body(grammar_, id);
  if (!made) return -1;
  auto& bodies = out_->bodies_;
  const auto same = std::find_if(bodies.begin(), bodies.end(), [&](const auto& b) { return *b == *made; });
  const auto index = static_cast<std::int32_t>(same - bodies.begin());
  if (same == bodies.end()) {
    if (bodies.size() >= kMaxBodies) return -1;
    bodies.push_back(std::make_shared<const LoopBody>(*made));
  }
  return it->second = index;
}

base::Result<std::shared_ptr<const Automaton>> Automaton::build(const Grammar& grammar, Limits limits) {
  TRY_OK(grammar.check());
  CHECK(grammar.num_rules() > 0, "a grammar without rules");
  return AutomatonBuilder(grammar, limits).build();
}

}  // namespace kvasir::grammar

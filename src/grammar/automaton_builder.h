#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "grammar/automaton.h"
#include "grammar/grammar_facts.h"

namespace kvasir::grammar {

// Builds the automaton of one grammar. Used once. Private to automaton*.cc.
class AutomatonBuilder {
 public:
  AutomatonBuilder(const Grammar& grammar, Automaton::Limits limits);

  base::Result<std::shared_ptr<const Automaton>> build();

 private:
  using State = Automaton::State;
  using Loop = Automaton::Loop;
  using Move = Automaton::Move;

  // Each `emit` adds states for a node, starting at `from`, and returns the state after it.
  StateId emit(NodeId id, StateId from);
  StateId emit_literal(std::string_view text, StateId from);
  StateId emit_choice(const Grammar::Node& node, StateId from);
  void emit_words(const std::vector<NodeId>& literals, StateId from, StateId end);
  StateId emit_repeat(NodeId id, StateId from);
  StateId emit_loop(const Grammar::Node& node, StateId from);
  StateId emit_cycle(const Grammar::Node& node, StateId from);
  StateId emit_call(RuleId rule, StateId from);
  StateId emit_body_states(const LoopBody& body, StateId start);
  StateId forbid_empty_pass(StateId first, StateId end);

  StateId add_state();
  void add_edge(StateId from, const ByteSet& set, StateId to);
  void add_empty(StateId from, StateId to) { states()[from].empty.push_back({Move::plain, 0, to}); }
  std::vector<State>& states() { return out_->states_; }

  RuleId rule_of(RuleId grammar_rule);
  RuleId rule_of_repeat(NodeId id);
  RuleId add_rule(NodeId body, std::size_t nullable);

  // The index of the body's LoopBody, or -1 if it cannot be one.
  std::int32_t body_of(NodeId id);

  void skip_transparent_states();
  void find_classes();
  void find_start_items();
  void find_components();

  const Grammar& grammar_;
  Automaton::Limits limits_;
  GrammarFacts facts_;
  std::shared_ptr<Automaton> out_;
  std::map<ByteSet, std::uint32_t> set_ids_;
  std::map<RuleId, RuleId> rule_ids_;      // from the grammar's to the automaton's
  std::map<NodeId, RuleId> repeat_rules_;  // repetitions that became rules
  std::map<NodeId, std::int32_t> body_ids_;
  std::vector<NodeId> rule_bodies_;  // by the automaton's rule id
  bool in_loop_ = false;
  int depth_ = 0;
  bool too_large_ = false;
};

}  // namespace kvasir::grammar

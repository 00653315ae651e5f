#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "grammar/byte_set.h"
#include "grammar/grammar.h"

namespace kvasir::grammar {

using StateId = std::uint32_t;

// A deterministic automaton for one pass through a loop whose body is a prefix-free language of bytes,
// usually one character. Such loops need no walk over the vocabulary for each state (see LoopSlice).
struct LoopBody {
  static constexpr std::uint8_t kDead = 255;
  static constexpr std::uint8_t kDone = 254;  // the pass is complete

  std::vector<std::array<std::uint8_t, 256>> next;  // state 0 is the start

  bool operator==(const LoopBody&) const = default;
};

// A grammar as a recursive transition network: each rule is a nondeterministic automaton over bytes and calls
// of other rules. Immutable; any number of threads may read it.
// A repetition is one copy of its body and a count that is part of the state, so {0,100000} needs no more
// states than {0,2}. Repetitions do not nest inside a rule: an inner one is a rule of its own.
class Automaton {
 public:
  struct Limits {
    std::size_t max_states = 300'000;
  };

  struct ByteEdge {
    std::uint32_t set;  // index in byte_sets()
    StateId target;
  };
  enum class Move : std::uint8_t {
    plain,  // keeps the count
    enter,  // enters a loop with count 0
    again,  // from a loop's end to its start, if one more pass is allowed
    leave,  // from a loop's end to the state after it, if there were enough passes
  };
  struct EmptyEdge {
    Move move;
    std::uint32_t loop;  // for enter, again and leave
    StateId target;
  };
  struct Call {
    RuleId rule;
    StateId back;  // where the caller continues after the rule
    StateId skip;  // where it continues at once if the rule can match nothing
  };
  struct Loop {
    std::uint32_t min;
    std::uint32_t max;
    StateId start = 0;
    std::int32_t body = -1;  // index in bodies() if the body is a LoopBody
    StateId follow = 0;
  };
  struct State {
    std::vector<ByteEdge> bytes;
    std::vector<EmptyEdge> empty;
    std::vector<Call> calls;
    std::int32_t loop = -1;   // the loop that starts here
    bool accept = false;      // the rule may end here
    bool final_only = false;  // accepts, and has no outgoing edges
  };
  struct StartItem {
    StateId state;
    std::uint32_t count;
  };
  struct StartCall {
    RuleId rule;
    StateId back;
    std::uint32_t count;
  };
  struct Rule {
    StateId start = 0;
    bool nullable = false;
    std::uint32_t component = 0;  // in the graph of calls made before any byte; callers have smaller numbers
    std::vector<StartItem> start_items;  // states with byte edges that are reachable without a byte
    std::vector<StartCall> start_calls;
  };
  struct Component {
    bool cyclic = false;  // its rules call each other before any byte (left recursion)
    std::vector<RuleId> rules;
  };

  static base::Result<std::shared_ptr<const Automaton>> build(const Grammar& grammar, Limits limits);
  static base::Result<std::shared_ptr<const Automaton>> build(const Grammar& grammar) {
    return build(grammar, Limits{});
  }

  RuleId root() const { return root_; }
  const State& state(StateId id) const { return states_[id]; }
  std::size_t num_states() const { return states_.size(); }
  const Loop& loop(std::uint32_t id) const { return loops_[id]; }
  // A state that only ends its rule, if there is one.
  StateId end_state() const { return end_state_; }
  std::size_t num_rules() const { return rules_.size(); }
  const Rule& rule(RuleId id) const { return rules_[id]; }
  const Component& component(std::uint32_t id) const { return components_[id]; }
  const ByteSet& byte_set(std::uint32_t id) const { return sets_[id]; }
  std::size_t num_bodies() const { return bodies_.size(); }
  const std::shared_ptr<const LoopBody>& body(std::int32_t id) const { return bodies_[id]; }

  // Bytes that no edge distinguishes share a class.
  std::uint8_t class_of(std::uint8_t byte) const { return class_of_[byte]; }
  int num_classes() const { return num_classes_; }
  std::uint8_t byte_of_class(int cls) const { return byte_of_class_[cls]; }

  // Sets the state and count after an empty edge. False if the count forbids the edge.
  bool move(const EmptyEdge& edge, std::uint32_t count, StateId& state, std::uint32_t& next_count) const {
    state = edge.target;
    next_count = count;
    if (edge.move == Move::plain) return true;
    next_count = 0;
    if (edge.move == Move::enter) return true;
    const Loop& loop = loops_[edge.loop];
    if (edge.move == Move::leave) return count + 1 >= loop.min;
    next_count = count + 1;
    if (loop.max == kUnbounded && next_count > loop.min) next_count = loop.min;
    return next_count < loop.max;
  }

 private:
  friend class AutomatonBuilder;

  RuleId root_ = 0;
  StateId end_state_ = 0;
  std::vector<State> states_;
  std::vector<Loop> loops_;
  std::vector<Rule> rules_;
  std::vector<Component> components_;
  std::vector<ByteSet> sets_;
  std::vector<std::shared_ptr<const LoopBody>> bodies_;
  std::array<std::uint8_t, 256> class_of_{};
  std::array<std::uint8_t, 256> byte_of_class_{};
  int num_classes_ = 0;
};

}  // namespace kvasir::grammar

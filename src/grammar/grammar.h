#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "grammar/byte_set.h"
#include "grammar/notes.h"

namespace kvasir::grammar {

using NodeId = std::uint32_t;
using RuleId = std::uint32_t;

inline constexpr std::uint32_t kUnbounded = std::numeric_limits<std::uint32_t>::max();

// A context-free grammar over bytes, which describes the allowed outputs. Every front end (JSON schema,
// regex, EBNF, choice) produces one, and `Automaton` is built from it. Nodes are built bottom-up, so a cycle
// exists only through rules. Building never fails: beyond the size limit further nodes are dropped, and
// `check()` reports it.
class Grammar {
 public:
  enum class Kind : std::uint8_t { bytes, literal, sequence, choice, repeat, reference };

  struct Node {
    Kind kind;
    ByteSet bytes;        // bytes: one byte of the set
    std::string literal;  // literal: exactly these bytes; an empty one matches the empty text
    std::vector<NodeId>
        children;           // for sequence, choice and repeat (one child); a choice of none never matches
    std::uint32_t min = 0;  // repeat
    std::uint32_t max = 0;  // repeat; kUnbounded: no limit
    RuleId rule = 0;        // reference
  };

  explicit Grammar(std::size_t max_size = 200'000) : max_size_(max_size) {}

  NodeId bytes(const ByteSet& set);
  NodeId literal(std::string_view text);
  NodeId empty() { return literal(""); }
  NodeId never() { return choice({}); }
  NodeId sequence(std::vector<NodeId> children);
  NodeId choice(std::vector<NodeId> children);
  NodeId optional(NodeId child) { return repeat(child, 0, 1); }
  NodeId repeat(NodeId child, std::uint32_t min, std::uint32_t max);
  NodeId reference(RuleId rule);

  // A rule may be referred to before it is defined. A rule that is never defined matches nothing.
  RuleId add_rule(std::string name);
  void define(RuleId rule, NodeId body);
  // The rule of this name, for parts that a grammar needs more than once. It is created at first use: `make`
  // returns its body, which may refer to the rule itself.
  RuleId shared_rule(const std::string& name, const std::function<NodeId()>& make);
  void set_root(RuleId rule) { root_ = rule; }

  RuleId root() const { return root_; }
  std::size_t num_rules() const { return rules_.size(); }
  const std::string& rule_name(RuleId rule) const { return rules_[rule].name; }
  NodeId rule_body(RuleId rule) const { return rules_[rule].body; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  std::size_t num_nodes() const { return nodes_.size(); }
  std::size_t size() const { return size_; }
  bool full() const { return size_ > max_size_; }

  // Fails with too_large if the size limit was exceeded.
  base::Status check() const;

  // Notes on what the source asks for and the grammar does not enforce, for the client's information.
  const std::vector<Note>& notes() const { return notes_; }
  void add_notes(std::vector<Note> notes);

 private:
  struct Rule {
    std::string name;
    NodeId body;
  };

  NodeId add(Node node);

  std::size_t max_size_;
  std::size_t size_ = 0;
  std::vector<Node> nodes_;
  std::vector<Rule> rules_;
  std::map<std::string, RuleId> shared_;
  RuleId root_ = 0;
  std::vector<Note> notes_;
};

}  // namespace kvasir::grammar

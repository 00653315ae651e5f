#include "grammar/grammar_facts.h"

namespace kvasir::grammar {
namespace {

using Kind = Grammar::Kind;

// Computes the least fixed point of a monotone property over nodes and rules. A node becomes true at most
// once, and then notifies the nodes that wait for it.
class Spread {
 public:
  Spread(const Grammar& grammar, std::size_t num_nodes)
      : grammar_(grammar), missing_(num_nodes, 0), waiting_(num_nodes), holds_(num_nodes, false) {}

  // `leaf(node)` says whether a bytes or literal node has the property.
  template <class Leaf>
  std::vector<bool> run(Leaf leaf) {
    // A reference waits for the rule's body node.
    for (NodeId id = 0; id < holds_.size(); ++id) {
      const Grammar::Node& node = grammar_.node(id);
      if (node.kind == Kind::bytes || node.kind == Kind::literal) {
        if (leaf(node)) mark(id);
      } else if (node.kind == Kind::reference) {
        wait(id, {grammar_.rule_body(node.rule)}, 1);
      } else if (node.kind == Kind::repeat && node.min == 0) {
        mark(id);
      } else {
        wait(id, node.children, node.kind == Kind::sequence ? node.children.size() : 1);
      }
    }
    while (!news_.empty()) {
      const NodeId id = news_.back();
      news_.pop_back();
      for (const NodeId user : waiting_[id]) {
        if (!holds_[user] && --missing_[user] == 0) mark(user);
      }
    }
    return std::move(holds_);
  }

 private:
  void mark(NodeId id) {
    holds_[id] = true;
    news_.push_back(id);
  }
  void wait(NodeId id, const std::vector<NodeId>& on, std::size_t needed) {
    missing_[id] = static_cast<std::uint32_t>(needed);
    for (const NodeId child : on) waiting_[child].push_back(id);
  }

  const Grammar& grammar_;
  std::vector<std::uint32_t> missing_;
  std::vector<std::vector<NodeId>> waiting_;
  std::vector<bool> holds_;
  std::vector<NodeId> news_;
};

}  // namespace

GrammarFacts find_facts(const Grammar& grammar) {
  const std::size_t n = grammar.num_nodes();
  GrammarFacts facts;
  facts.productive = Spread(grammar, n).run([](const Grammar::Node&) { return true; });
  facts.nullable = Spread(grammar, n).run([](const Grammar::Node& node) {
    return node.kind == Kind::literal && node.literal.empty();
  });
  facts.refers.assign(n, false);
  facts.repeats.assign(n, false);
  for (NodeId id = 0; id < n; ++id) {  // children come before their parents
    const Grammar::Node& node = grammar.node(id);
    if (node.kind == Kind::reference) facts.refers[id] = true;
    if (node.kind == Kind::repeat && node.max > 1) facts.repeats[id] = true;
    for (const NodeId child : node.children) {
      if (facts.refers[child]) facts.refers[id] = true;
      if (facts.repeats[child]) facts.repeats[id] = true;
    }
  }
  facts.rule_nullable.resize(grammar.num_rules());
  for (RuleId r = 0; r < grammar.num_rules(); ++r) {
    facts.rule_nullable[r] = facts.nullable[grammar.rule_body(r)];
  }
  return facts;
}

}  // namespace kvasir::grammar

#include "grammar/grammar.h"

#include <algorithm>

namespace kvasir::grammar {

NodeId Grammar::add(Node node) {
  size_ += 1 + node.children.size() + node.literal.size();
  // Once the limit is reached, the last node stands for all further ones.
  if (full() && !nodes_.empty()) return static_cast<NodeId>(nodes_.size() - 1);
  nodes_.push_back(std::move(node));
  return static_cast<NodeId>(nodes_.size() - 1);
}

NodeId Grammar::bytes(const ByteSet& set) {
  if (set.empty()) return never();
  return add(Node{.kind = Kind::bytes, .bytes = set});
}

NodeId Grammar::literal(std::string_view text) {
  return add(Node{.kind = Kind::literal, .literal = std::string(text)});
}

NodeId Grammar::sequence(std::vector<NodeId> children) {
  if (children.empty()) return empty();
  if (children.size() == 1) return children[0];
  return add(Node{.kind = Kind::sequence, .children = std::move(children)});
}

NodeId Grammar::choice(std::vector<NodeId> children) {
  if (children.size() == 1) return children[0];
  return add(Node{.kind = Kind::choice, .children = std::move(children)});
}

NodeId Grammar::repeat(NodeId child, std::uint32_t min, std::uint32_t max) {
  CHECK(min <= max);
  if (max == 0) return empty();
  if (min == 1 && max == 1) return child;
  return add(Node{.kind = Kind::repeat, .children = {child}, .min = min, .max = max});
}

NodeId Grammar::reference(RuleId rule) {
  CHECK(rule < rules_.size());
  return add(Node{.kind = Kind::reference, .rule = rule});
}

RuleId Grammar::add_rule(std::string name) {
  size_ += 1;
  if (full() && !rules_.empty()) return static_cast<RuleId>(rules_.size() - 1);
  const NodeId nothing = never();
  rules_.push_back(Rule{std::move(name), nothing});
  return static_cast<RuleId>(rules_.size() - 1);
}

void Grammar::define(RuleId rule, NodeId body) {
  CHECK(rule < rules_.size() && body < nodes_.size());
  // Once full, ids may stand for other nodes, and a definition could create a cycle of nodes.
  if (!full()) rules_[rule].body = body;
}

RuleId Grammar::shared_rule(const std::string& name, const std::function<NodeId()>& make) {
  const auto known = shared_.find(name);
  if (known != shared_.end()) return known->second;
  const RuleId rule = add_rule(name);
  shared_.emplace(name, rule);
  define(rule, make());
  return rule;
}

void Grammar::add_notes(std::vector<Note> notes) {
  std::ranges::move(notes, std::back_inserter(notes_));
}

base::Status Grammar::check() const {
  if (full())
    return base::error(base::ErrorCode::too_large, "the grammar is larger than {} nodes", max_size_);
  return base::ok();
}

}  // namespace kvasir::grammar

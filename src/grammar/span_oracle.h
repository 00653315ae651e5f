#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "grammar/grammar.h"

namespace kvasir::grammar {

// The simplest way to decide what a grammar matches, for tests: a table of (rule, begin) → set of ends that
// grows until nothing changes. For texts under 60 bytes.
class SpanOracle {
 public:
  SpanOracle(const Grammar& grammar, std::string_view text) : grammar_(grammar), text_(text) {
    rules_.assign(grammar.num_rules(), std::vector<std::uint64_t>(text.size() + 1, 0));
    for (bool changed = true; changed;) {
      changed = false;
      for (RuleId r = 0; r < rules_.size(); ++r) {
        for (std::size_t i = 0; i <= text.size(); ++i) {
          const std::uint64_t ends = node_ends(grammar.rule_body(r), i);
          changed |= ends != rules_[r][i];
          rules_[r][i] = ends;
        }
      }
    }
  }

  // Whether the first `size` bytes of the text match.
  bool matches(std::size_t size) const { return (rules_[grammar_.root()][0] >> size) & 1; }

 private:
  std::uint64_t each(NodeId id, std::uint64_t begins) const {
    std::uint64_t ends = 0;
    for (std::size_t i = 0; i <= text_.size(); ++i) {
      if ((begins >> i) & 1) ends |= node_ends(id, i);
    }
    return ends;
  }

  std::uint64_t node_ends(NodeId id, std::size_t begin) const {
    const Grammar::Node& node = grammar_.node(id);
    std::uint64_t ends = 0;
    switch (node.kind) {
      case Grammar::Kind::bytes:
        if (begin < text_.size() && node.bytes.has(static_cast<std::uint8_t>(text_[begin]))) {
          ends = std::uint64_t{1} << (begin + 1);
        }
        return ends;
      case Grammar::Kind::literal:
        if (text_.substr(begin).starts_with(node.literal)) {
          ends = std::uint64_t{1} << (begin + node.literal.size());
        }
        return ends;
      case Grammar::Kind::sequence:
        ends = std::uint64_t{1} << begin;
        for (const NodeId child : node.children) ends = each(child, ends);
        return ends;
      case Grammar::Kind::choice:
        for (const NodeId child : node.children) ends |= node_ends(child, begin);
        return ends;
      case Grammar::Kind::repeat: {
        std::uint64_t at = std::uint64_t{1} << begin;
        const std::uint32_t most = node.max == kUnbounded ? node.min + 64 : node.max;
        for (std::uint32_t i = 0; i <= most && at != 0; ++i) {
          if (i >= node.min) ends |= at;
          at = each(node.children[0], at);
        }
        return ends;
      }
      case Grammar::Kind::reference:
        return rules_[node.rule][begin];
    }
    return 0;
  }

  const Grammar& grammar_;
  std::string_view text_;
  std::vector<std::vector<std::uint64_t>> rules_;
};

}  // namespace kvasir::grammar

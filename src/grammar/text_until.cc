#include "grammar/text_until.h"

#include <map>
#include <vector>

#include "base/check.h"

namespace kvasir::grammar {
namespace {

enum class Ending { with_marker, before_marker };

// The number of bytes of `marker` that the text ends with after one more byte.
std::size_t next_length(std::string_view marker, std::size_t length, char byte) {
  std::string text(marker.substr(0, length));
  text += byte;
  while (!marker.starts_with(text)) text.erase(0, 1);
  return text.size();
}

// Makes one rule for each number of marker bytes that the text so far ends with.
NodeId text_around(Grammar& grammar, std::string_view marker, Ending ending) {
  CHECK(!marker.empty());
  std::vector<RuleId> rules;
  for (std::size_t i = 0; i < marker.size(); ++i) rules.push_back(grammar.add_rule("text"));
  for (std::size_t length = 0; length < marker.size(); ++length) {
    std::map<std::size_t, ByteSet> by_target;
    for (int b = 0; b < 256; ++b) {
      const auto byte = static_cast<std::uint8_t>(b);
      by_target[next_length(marker, length, static_cast<char>(byte))].add(byte);
    }
    std::vector<NodeId> ways;
    for (const auto& [target, bytes] : by_target) {
      const bool found = target == marker.size();
      if (found && ending == Ending::before_marker) continue;
      const NodeId byte = grammar.bytes(bytes);
      ways.push_back(found ? byte : grammar.sequence({byte, grammar.reference(rules[target])}));
    }
    if (ending == Ending::before_marker) ways.push_back(grammar.empty());
    grammar.define(rules[length], grammar.choice(std::move(ways)));
  }
  return grammar.reference(rules[0]);
}

}  // namespace

NodeId text_until(Grammar& grammar, std::string_view marker) {
  return text_around(grammar, marker, Ending::with_marker);
}

NodeId text_without(Grammar& grammar, std::string_view marker) {
  return text_around(grammar, marker, Ending::before_marker);
}

}  // namespace kvasir::grammar

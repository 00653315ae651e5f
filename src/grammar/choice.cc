#include "grammar/choice.h"

namespace kvasir::grammar {

base::Result<Grammar> grammar_of_choice(std::span<const std::string> texts) {
  if (texts.empty()) {
    return base::error(base::ErrorCode::invalid_argument, "a choice needs at least one alternative");
  }
  Grammar grammar;
  std::vector<NodeId> alternatives;
  for (const std::string& text : texts) {
    if (grammar.full()) break;
    alternatives.push_back(grammar.literal(text));
  }
  const RuleId root = grammar.add_rule("root");
  grammar.define(root, grammar.choice(std::move(alternatives)));
  grammar.set_root(root);
  TRY_OK(grammar.check());
  return grammar;
}

}  // namespace kvasir::grammar

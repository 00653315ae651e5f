#pragma once

#include <vector>

#include "grammar/grammar.h"

namespace kvasir::grammar {

// Properties of every node that are needed before states are made. To find them takes time linear in the
// grammar's size.
struct GrammarFacts {
  std::vector<bool> productive;     // matches something; other nodes are left out of the automaton
  std::vector<bool> nullable;       // matches the empty text
  std::vector<bool> refers;         // contains a reference
  std::vector<bool> repeats;        // contains a repetition of more than one pass
  std::vector<bool> rule_nullable;  // by rule
};

GrammarFacts find_facts(const Grammar& grammar);

}  // namespace kvasir::grammar

#pragma once

#include <vector>

#include "grammar/grammar.h"

namespace kvasir::grammar {

// What is known of every node before states are made of it. Linear in the grammar's size.
struct GrammarFacts {
  std::vector<bool> productive;     // matches something; nodes that do not are left out of the automaton
  std::vector<bool> nullable;       // matches without a byte
  std::vector<bool> refers;         // contains a reference
  std::vector<bool> repeats;        // contains a repetition of more than one pass
  std::vector<bool> rule_nullable;  // by rule
};

GrammarFacts find_facts(const Grammar& grammar);

}  // namespace kvasir::grammar

#pragma once

#include <string_view>

#include "base/result.h"
#include "grammar/grammar.h"

namespace kvasir::grammar {

// Parses EBNF in either of the two dialects in use. One is GBNF, as llama.cpp and xgrammar read it:
//   root ::= "[" item ("," item)* "]"   # rules begin at a name and `::=`; the root is `root`
//   item ::= [a-z]+ | "x"{2,4} | .
// The other is the common part of Lark's syntax:
//   start: "[" item ("," item)* "]"     // the root is `start`; [x] is optional, WORD: /[a-z]+/, "x"i, x~2..4
//   %ignore WS
// The first rule decides the dialect. An unknown construct is an error that names it and its line.
base::Result<Grammar> grammar_of_ebnf(std::string_view text);

}  // namespace kvasir::grammar

#pragma once

#include <string_view>

#include "base/result.h"
#include "grammar/char_encoding.h"
#include "grammar/grammar.h"

namespace kvasir::grammar {

// Parses EBNF in either of the two dialects in use. One is GBNF, as llama.cpp and xgrammar read it:
//   root ::= "[" item ("," item)* "]"   # rules begin at a name and `::=`; the root is `root`
//   item ::= [a-z]+ | "x"{2,4} | .
// The other is the part of Lark's syntax that is in common use:
//   start: "[" item ("," item)* "]"     // the root is `start`; [x] is optional, WORD: /[a-z]+/, "x"i, x~2..4
//   %ignore WS
// The first rule decides the dialect. An unknown construct is an error that names it and its line.
// Lark's terminals match wherever they can, whether or not the match is the longest. Their priorities have no
// effect, since they only choose between readings of one text. In a regular expression, `.` does not match
// the end of a line without the flag `s`, and the flag `i` applies to ASCII letters only.
base::Result<Grammar> grammar_of_ebnf(std::string_view text);

// Adds the rules of a Lark grammar to `grammar` and returns the node of its texts, whose characters are
// encoded as `encoding` says.
base::Result<NodeId> add_lark(Grammar& grammar, std::string_view text, CharEncoding encoding);

}  // namespace kvasir::grammar

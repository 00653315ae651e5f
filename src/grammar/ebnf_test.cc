#include "grammar/ebnf.h"

#include <gtest/gtest.h>

#include "grammar/pushdown.h"

namespace kvasir::grammar {
namespace {

bool takes(std::string_view grammar_text, std::string_view text) {
  auto grammar = grammar_of_ebnf(grammar_text);
  CHECK(grammar.ok(), "{}", grammar.error().message);
  auto automaton = Automaton::build(*grammar);
  CHECK(automaton.ok(), "{}", automaton.error().message);
  Pushdown pushdown(*automaton, {});
  ConfigId c = pushdown.start();
  for (const char b : text) c = pushdown.step(c, static_cast<std::uint8_t>(b));
  return pushdown.is_complete(c);
}

std::string error_of(std::string_view text) {
  const auto grammar = grammar_of_ebnf(text);
  return grammar.ok() ? "" : grammar.error().message;
}

constexpr std::string_view kSums = R"EBNF(
# sums of numbers
root  ::= sum "\n"
sum   ::= term (op term)*   # the second part
op    ::= "+" | "-"
term  ::= number |
          "(" sum ")"
number ::= [1-9] [0-9]{0,2} | "0"
)EBNF";

TEST(Ebnf, Gbnf) {
  EXPECT_TRUE(takes(kSums, "1+(20-345)\n"));
  EXPECT_FALSE(takes(kSums, "1+1"));
  EXPECT_FALSE(takes(kSums, "1234\n"));
  EXPECT_TRUE(takes("root ::= [^a-z\\]]+ .", "AB-C"));
  EXPECT_TRUE(takes("root ::= \"\\x41\\u00e9\\\"\" [а-я]*", "A\xC3\xA9\"кот"));
  EXPECT_TRUE(takes("root ::= a{2} b{1,} c{,1}\na ::= \"a\"\nb ::= \"b\"\nc ::= \"c\"", "aabb"));
  EXPECT_TRUE(takes("root ::= root \"x\" | \"y\"", "yxxx"));  // left recursion
}

constexpr std::string_view kLark = R"EBNF(
start: call ("," call)*
call: NAME "(" [args] ")" -> call
args: value ("," value)*
?value: NUMBER | ESCAPED_STRING | call | "none"i
NAME: /[a-z_]+/
%import common.NUMBER
%import common (ESCAPED_STRING, WS)
%ignore WS
)EBNF";

TEST(Ebnf, Lark) {
  EXPECT_TRUE(takes(kLark, "f(1, \"x\\\"y\", g( ))"));
  EXPECT_TRUE(takes(kLark, "  f ( NoNe ) , g()"));
  EXPECT_FALSE(takes(kLark, "f(1"));
  EXPECT_FALSE(takes(kLark, "f f()"));
  EXPECT_TRUE(takes("start: A~2..3 \"-\" \"a\"..\"c\"\nA: \"x\"", "xxx-b"));
  EXPECT_FALSE(takes("start: A~2..3 \"-\" \"a\"..\"c\"\nA: \"x\"", "x-b"));
}

TEST(Ebnf, LarkFlagsAndPriorities) {
  EXPECT_TRUE(takes("start: /ab[^x]/i", "aBy"));
  EXPECT_FALSE(takes("start: /ab[^x]/i", "ABX"));
  EXPECT_FALSE(takes("start: /./", "\n"));
  EXPECT_TRUE(takes("start: /./s", "\n"));
  EXPECT_TRUE(takes("start: a | B\na.2: \"x\"\nB.-1: \"y\"", "y"));
  EXPECT_TRUE(takes("?start: _x y -> z\n!y: \"b\"\n_x: \"a\"", "ab"));
}

TEST(Ebnf, ErrorsNameWhatAndWhere) {
  EXPECT_NE(error_of("root ::= a\nb ::= c").find("no rule for 'a' (line 1)"), std::string::npos);
  EXPECT_NE(error_of("start: a").find("no rule for 'a'"), std::string::npos);
  EXPECT_NE(error_of("x ::= \"a\"").find("'root'"), std::string::npos);
  EXPECT_NE(error_of("root ::= \"a").find("without its end"), std::string::npos);
  EXPECT_NE(error_of("root ::= (\"a\"").find("'('"), std::string::npos);
  EXPECT_NE(error_of("root ::= [a").find("'['"), std::string::npos);
  EXPECT_NE(error_of("root ::= \"a\"{3,2}").find("empty"), std::string::npos);
  EXPECT_NE(error_of("root ::= \"a\"\nroot ::= \"b\"").find("second rule"), std::string::npos);
  EXPECT_NE(error_of("start: \"a\"\n%declare B").find("%declare"), std::string::npos);
  EXPECT_NE(error_of("start: \"b\"\n | /a/x").find("flag 'x' of an expression are not supported (line 2)"),
            std::string::npos);
  EXPECT_NE(error_of("start: pair{\"a\"}").find("templates"), std::string::npos);
  EXPECT_NE(error_of("start: \"a\"\npair{x}: x x").find("templates are not supported (line 2)"),
            std::string::npos);
  EXPECT_NE(error_of("start: %json {}").find("%json"), std::string::npos);
  EXPECT_NE(error_of("start: \"a\"\n%import python.NAME").find("imports other than common"),
            std::string::npos);
  EXPECT_NE(error_of("start: /(?=a)/").find("lookahead"), std::string::npos);
  EXPECT_NE(error_of("").find("must begin"), std::string::npos);
  EXPECT_NE(error_of("root ::= " + std::string(500, '(')).find("nested"), std::string::npos);
}

}  // namespace
}  // namespace kvasir::grammar

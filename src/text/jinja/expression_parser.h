#pragma once

#include "base/result.h"
#include "text/jinja/ast.h"
#include "text/jinja/token_cursor.h"

namespace kvasir::text::jinja {

// Jinja2's expression grammar. Trees deeper than a bound are errors, so that whatever walks them may recurse.
class ExpressionParser {
 public:
  // `cursor` outlives the parser.
  explicit ExpressionParser(TokenCursor& cursor) : cursor_(cursor) {}

  using Parsed = base::Result<ExpressionPtr>;
  // With inline if: `a if b else c`.
  Parsed parse();
  // The same, where commas make a tuple.
  Parsed parse_tuple();
  // Without inline if: what `for … in` takes, whose own `if` follows.
  Parsed parse_tuple_without_if();
  // `name(arguments) | name …`, applied to nothing yet.
  Parsed parse_filter_chain();

 private:
  enum class InlineIf { allowed, forbidden };
  Parsed parse_tuple(InlineIf inline_if);
  Parsed parse_or();
  Parsed parse_and();
  Parsed parse_not();
  Parsed parse_comparison();
  Parsed parse_sum();
  Parsed parse_concatenation();
  Parsed parse_product();
  Parsed parse_power();
  Parsed parse_unary();
  Parsed parse_filtered();
  Parsed parse_primary();
  Parsed parse_primary_name();
  Parsed parse_parenthesis();
  Parsed parse_list();
  Parsed parse_dict();
  Parsed parse_number();
  Parsed parse_postfix(ExpressionPtr object);
  Parsed parse_subscript(ExpressionPtr object);
  Parsed parse_filter(ExpressionPtr subject);
  Parsed parse_test(ExpressionPtr subject);
  base::Result<CallArguments> parse_arguments();
  bool at_comparator() const;
  Comparator take_comparator();
  bool at_test_argument() const;

  Parsed make(int line, Expression::Node node);

  TokenCursor& cursor_;
  int nesting_ = 0;
};

}  // namespace kvasir::text::jinja

#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/jinja/ast.h"
#include "text/jinja/token_cursor.h"

namespace kvasir::text::jinja {

// Which special variables a macro's body uses.
struct SpecialNames {
  bool caller = false;
  bool kwargs = false;
  bool varargs = false;
};

// Parses Jinja2's expression grammar. Trees that are too deep are errors, so that code may walk trees by
// recursion.
class ExpressionParser {
 public:
  // `cursor` outlives the parser.
  explicit ExpressionParser(TokenCursor& cursor) : cursor_(cursor) {}

  using Parsed = base::Result<ExpressionPtr>;
  // Parses an expression with inline if: `a if b else c`.
  Parsed parse();
  // As `parse`, but commas make a tuple.
  Parsed parse_tuple();
  // As `parse_tuple` but without inline if, for `for … in`, which has an `if` of its own.
  Parsed parse_tuple_without_if();
  // Parses `name(arguments) | name …`, without a subject.
  Parsed parse_filter_chain();
  // Makes the expression that `print` prints.
  Parsed concatenated(int line, Concatenation parts) { return make(line, std::move(parts)); }
  // The special names that were used since the caller last cleared this.
  SpecialNames& special_names() { return special_names_; }

  // Filters and tests that do not exist, in the order of their use. As in Jinja2 they are errors when the
  // template is parsed, except inside an `if`, where they are errors only when they are reached.
  std::size_t num_unknown() const { return unknown_.size(); }
  void allow_unknown(std::size_t since) { unknown_.resize(since); }
  base::Status refuse_unknown(std::size_t since) const;

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
  base::Status parse_argument(CallArguments& arguments);
  base::Result<std::string> parse_dotted_name();  // name of a filter or a test
  bool at_comparator() const;
  Comparator take_comparator();
  bool at_test_argument() const;

  Parsed make(int line, Expression::Node node);

  struct Unknown {
    std::string what;
    int line = 0;
  };

  TokenCursor& cursor_;
  int nesting_ = 0;
  SpecialNames special_names_;
  std::vector<Unknown> unknown_;
};

}  // namespace kvasir::text::jinja

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>
#include <utility>

#include "text/jinja/callable.h"
#include "text/jinja/expression_parser.h"

namespace kvasir::text::jinja {
namespace {

// Jinja2 has these filters and Kvasir has not, so a template is valid as long as it does not reach them.
constexpr std::string_view kFiltersNotHere[] = {"pprint", "random", "urlize"};

bool is_unknown_filter(std::string_view name) {
  return find_filter(name) == nullptr &&
         std::find(std::begin(kFiltersNotHere), std::end(kFiltersNotHere), name) == std::end(kFiltersNotHere);
}

}  // namespace

// This file has the innermost part of ExpressionParser: literals, names and their suffixes.

ExpressionParser::Parsed ExpressionParser::parse_primary() {
  if (cursor_.at(TokenKind::name)) return parse_primary_name();
  if (cursor_.at(TokenKind::integer) || cursor_.at(TokenKind::real)) return parse_number();
  if (cursor_.at(TokenKind::string)) {
    const int line = cursor_.line();
    std::string text;
    while (cursor_.at(TokenKind::string)) text += cursor_.take().text;
    return make(line, Constant{Value::literal(text)});
  }
  if (cursor_.at_symbol("(")) return parse_parenthesis();
  if (cursor_.at_symbol("[")) return parse_list();
  if (cursor_.at_symbol("{")) return parse_dict();
  return cursor_.unexpected("a value");
}

ExpressionParser::Parsed ExpressionParser::parse_primary_name() {
  Token token = cursor_.take();
  const std::string& name = token.text;
  if (name == "true" || name == "True") return make(token.line, Constant{Value(true)});
  if (name == "false" || name == "False") return make(token.line, Constant{Value(false)});
  if (name == "none" || name == "None") return make(token.line, Constant{Value::none()});
  special_names_.caller |= name == "caller";
  special_names_.kwargs |= name == "kwargs";
  special_names_.varargs |= name == "varargs";
  return make(token.line, Name{std::move(token.text)});
}

ExpressionParser::Parsed ExpressionParser::parse_number() {
  const Token token = cursor_.take();
  const char* begin = token.text.data();
  const char* end = begin + token.text.size();
  if (token.kind == TokenKind::integer) {
    std::int64_t value = 0;
    const char base = token.text.size() > 2 ? token.text[1] : '\0';
    const int radix = base == 'x' || base == 'X'   ? 16
                      : base == 'o' || base == 'O' ? 8
                      : base == 'b' || base == 'B' ? 2
                                                   : 10;
    const auto read = std::from_chars(radix == 10 ? begin : begin + 2, end, value, radix);
    if (read.ec != std::errc() || read.ptr != end)
      return cursor_.failed("the number " + token.text + " is too large");
    return make(token.line, Constant{Value(value)});
  }
  double value = 0;
  const auto read = std::from_chars(begin, end, value);
  if (read.ec != std::errc() || read.ptr != end)
    return cursor_.failed("the number " + token.text + " is too large");
  return make(token.line, Constant{Value(value)});
}

ExpressionParser::Parsed ExpressionParser::parse_parenthesis() {
  const int line = cursor_.take().line;
  if (cursor_.skip_symbol(")")) return make(line, ListDisplay{.items = {}, .tuple = true});
  TRY(ExpressionPtr value, parse_tuple());
  TRY_OK(cursor_.expect_symbol(")"));
  return value;
}

ExpressionParser::Parsed ExpressionParser::parse_list() {
  const int line = cursor_.take().line;
  ListDisplay node;
  while (!cursor_.at_symbol("]")) {
    if (!node.items.empty()) {
      TRY_OK(cursor_.expect_symbol(","));
      if (cursor_.at_symbol("]")) break;
    }
    TRY(node.items.emplace_back(), parse());
  }
  TRY_OK(cursor_.expect_symbol("]"));
  return make(line, std::move(node));
}

ExpressionParser::Parsed ExpressionParser::parse_dict() {
  const int line = cursor_.take().line;
  DictDisplay node;
  while (!cursor_.at_symbol("}")) {
    if (!node.entries.empty()) {
      TRY_OK(cursor_.expect_symbol(","));
      if (cursor_.at_symbol("}")) break;
    }
    TRY(ExpressionPtr key, parse());
    TRY_OK(cursor_.expect_symbol(":"));
    TRY(ExpressionPtr value, parse());
    node.entries.emplace_back(std::move(key), std::move(value));
  }
  TRY_OK(cursor_.expect_symbol("}"));
  return make(line, std::move(node));
}

ExpressionParser::Parsed ExpressionParser::parse_postfix(ExpressionPtr object) {
  while (true) {
    const int line = cursor_.line();
    if (cursor_.skip_symbol(".")) {
      if (cursor_.at(TokenKind::integer)) {
        TRY(ExpressionPtr key, parse_number());
        TRY(object, make(line, ItemAccess{std::move(object), std::move(key)}));
      } else {
        TRY(std::string name, cursor_.expect_name());
        TRY(object, make(line, AttributeAccess{std::move(object), std::move(name)}));
      }
    } else if (cursor_.at_symbol("[")) {
      TRY(object, parse_subscript(std::move(object)));
    } else if (cursor_.at_symbol("(")) {
      TRY(auto arguments, parse_arguments());
      TRY(object, make(line, Call{std::move(object), std::move(arguments)}));
    } else {
      return object;
    }
  }
}

ExpressionParser::Parsed ExpressionParser::parse_subscript(ExpressionPtr object) {
  const int line = cursor_.take().line;
  SliceAccess slice;
  const auto at_part = [&] { return !cursor_.at_symbol(":") && !cursor_.at_symbol("]"); };
  if (at_part()) {
    TRY(slice.begin, parse_tuple());
    if (cursor_.skip_symbol("]")) return make(line, ItemAccess{std::move(object), std::move(slice.begin)});
  }
  TRY_OK(cursor_.expect_symbol(":"));
  if (at_part()) {
    TRY(slice.end, parse());
  }
  if (cursor_.skip_symbol(":") && at_part()) {
    TRY(slice.step, parse());
  }
  TRY_OK(cursor_.expect_symbol("]"));
  slice.object = std::move(object);
  return make(line, std::move(slice));
}

base::Status ExpressionParser::parse_argument(CallArguments& arguments) {
  if (arguments.more_named) return cursor_.failed("an argument follows **");
  if (cursor_.skip_symbol("**")) {
    TRY(arguments.more_named, parse());
    return base::ok();
  }
  const bool more = cursor_.skip_symbol("*");
  if (more && arguments.more_positional) return cursor_.failed("two argument lists with *");
  const bool named = !more && cursor_.at(TokenKind::name) && cursor_.peek(1).kind == TokenKind::symbol &&
                     cursor_.peek(1).text == "=";
  if (more) {
    TRY(arguments.more_positional, parse());
  } else if (named) {
    std::string name = cursor_.take().text;
    TRY_OK(cursor_.expect_symbol("="));
    TRY(ExpressionPtr value, parse());
    arguments.named.emplace_back(std::move(name), std::move(value));
  } else {
    if (!arguments.named.empty() || arguments.more_positional)
      return cursor_.failed("a positional argument follows a named one");
    TRY(arguments.positional.emplace_back(), parse());
  }
  return base::ok();
}

base::Result<CallArguments> ExpressionParser::parse_arguments() {
  TRY_OK(cursor_.expect_symbol("("));
  CallArguments arguments;
  bool first = true;
  while (!cursor_.at_symbol(")")) {
    if (!std::exchange(first, false)) {
      TRY_OK(cursor_.expect_symbol(","));
      if (cursor_.at_symbol(")")) break;
    }
    TRY_OK(parse_argument(arguments));
  }
  TRY_OK(cursor_.expect_symbol(")"));
  return arguments;
}

ExpressionParser::Parsed ExpressionParser::parse_filter_chain() {
  TRY(ExpressionPtr chain, parse_filter(nullptr));
  while (cursor_.at_symbol("|")) {
    TRY(chain, parse_filter(std::move(chain)));
  }
  return chain;
}

base::Result<std::string> ExpressionParser::parse_dotted_name() {
  TRY(std::string name, cursor_.expect_name());
  while (cursor_.skip_symbol(".")) {
    TRY(const std::string part, cursor_.expect_name());
    name += "." + part;
  }
  return name;
}

// Parses a filter. Begins at the "|", or at the filter's name if there is no subject.
ExpressionParser::Parsed ExpressionParser::parse_filter(ExpressionPtr subject) {
  const int line = cursor_.line();
  if (subject != nullptr) TRY_OK(cursor_.expect_symbol("|"));
  FilterCall node{.subject = std::move(subject)};
  TRY(node.name, parse_dotted_name());
  if (is_unknown_filter(node.name))
    unknown_.push_back({fmt::format("no filter named '{}'", node.name), line});
  if (cursor_.at_symbol("(")) {
    TRY(node.arguments, parse_arguments());
  }
  return make(line, std::move(node));
}

// Every name except these begins an argument, even `if` and `in`: `x is defined if y` is an error in Jinja2
// too.
bool ExpressionParser::at_test_argument() const {
  if (cursor_.at(TokenKind::name))
    return !cursor_.at_name("else") && !cursor_.at_name("or") && !cursor_.at_name("and");
  return cursor_.at(TokenKind::string) || cursor_.at(TokenKind::integer) || cursor_.at(TokenKind::real) ||
         cursor_.at_symbol("[") || cursor_.at_symbol("{");
}

ExpressionParser::Parsed ExpressionParser::parse_test(ExpressionPtr subject) {
  const int line = cursor_.take().line;
  const bool negated = cursor_.skip_name("not");
  TestCall node{.subject = std::move(subject)};
  TRY(node.name, parse_dotted_name());
  if (find_test(node.name) == nullptr)
    unknown_.push_back({fmt::format("no test named '{}'", node.name), line});
  if (cursor_.at_symbol("(")) {
    TRY(node.arguments, parse_arguments());
  } else if (at_test_argument()) {
    if (cursor_.at_name("is")) return cursor_.failed("tests cannot be chained with 'is'");
    TRY(ExpressionPtr primary, parse_primary());
    TRY(node.arguments.positional.emplace_back(), parse_postfix(std::move(primary)));
  }
  TRY(ExpressionPtr test, make(line, std::move(node)));
  if (!negated) return test;
  return make(line, Unary{UnaryOperator::logical_not, std::move(test)});
}

}  // namespace kvasir::text::jinja

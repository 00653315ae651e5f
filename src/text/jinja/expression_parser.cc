#include "text/jinja/expression_parser.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace kvasir::text::jinja {
namespace {

constexpr int kMaxTreeDepth = 150;

int depth_of(const ExpressionPtr& child) {
  return child ? child->depth : 0;
}
int depth_of(const Constant&) {
  return 0;
}
int depth_of(const Name&) {
  return 0;
}
int depth_of(const std::vector<ExpressionPtr>& children) {
  int deepest = 0;
  for (const auto& child : children) deepest = std::max(deepest, depth_of(child));
  return deepest;
}
int depth_of(const CallArguments& arguments) {
  int deepest = depth_of(arguments.positional);
  for (const auto& [name, value] : arguments.named) deepest = std::max(deepest, depth_of(value));
  return std::max({deepest, depth_of(arguments.more_positional), depth_of(arguments.more_named)});
}
int depth_of(const ListDisplay& node) {
  return depth_of(node.items);
}
int depth_of(const DictDisplay& node) {
  int deepest = 0;
  for (const auto& [key, value] : node.entries) {
    deepest = std::max({deepest, depth_of(key), depth_of(value)});
  }
  return deepest;
}
int depth_of(const Unary& node) {
  return depth_of(node.operand);
}
int depth_of(const Binary& node) {
  return std::max(depth_of(node.left), depth_of(node.right));
}
int depth_of(const Concatenation& node) {
  return depth_of(node.parts);
}
int depth_of(const Comparison& node) {
  int deepest = depth_of(node.first);
  for (const auto& [op, operand] : node.rest) deepest = std::max(deepest, depth_of(operand));
  return deepest;
}
int depth_of(const Conditional& node) {
  return std::max({depth_of(node.test), depth_of(node.then), depth_of(node.otherwise)});
}
int depth_of(const AttributeAccess& node) {
  return depth_of(node.object);
}
int depth_of(const ItemAccess& node) {
  return std::max(depth_of(node.object), depth_of(node.key));
}
int depth_of(const SliceAccess& node) {
  return std::max({depth_of(node.object), depth_of(node.begin), depth_of(node.end), depth_of(node.step)});
}
int depth_of(const Call& node) {
  return std::max(depth_of(node.callee), depth_of(node.arguments));
}
template <class Applied>
  requires std::is_same_v<Applied, FilterCall> || std::is_same_v<Applied, TestCall>
int depth_of(const Applied& node) {
  return std::max(depth_of(node.subject), depth_of(node.arguments));
}

// Counts how deeply the parser recurses, while the object exists.
class Nested {
 public:
  explicit Nested(int& nesting) : nesting_(nesting) { ++nesting_; }
  ~Nested() { --nesting_; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  int& nesting_;
};

}  // namespace

ExpressionParser::Parsed ExpressionParser::make(int line, Expression::Node node) {
  const int depth = std::visit([](const auto& kind) { return depth_of(kind); }, node) + 1;
  if (depth > kMaxTreeDepth) return cursor_.failed("the expression is too deep");
  return std::make_unique<Expression>(Expression{std::move(node), line, depth});
}

ExpressionParser::Parsed ExpressionParser::parse() {
  const Nested nested(nesting_);
  if (nesting_ > kMaxTreeDepth) return cursor_.failed("the expression is too deep");
  const std::size_t num_unknown_before = num_unknown();
  TRY(ExpressionPtr value, parse_or());
  while (cursor_.at_name("if")) {
    const int line = cursor_.line();
    cursor_.skip_name("if");
    Conditional node{.test = nullptr, .then = std::move(value), .otherwise = nullptr};
    TRY(node.test, parse_or());
    if (cursor_.skip_name("else")) {
      TRY(node.otherwise, parse());
    }
    TRY(value, make(line, std::move(node)));
    allow_unknown(num_unknown_before);
  }
  return value;
}

base::Status ExpressionParser::refuse_unknown(std::size_t since) const {
  if (unknown_.size() <= since) return base::ok();
  return TokenCursor::failed_at(unknown_[since].line, unknown_[since].what);
}

ExpressionParser::Parsed ExpressionParser::parse_tuple() {
  return parse_tuple(InlineIf::allowed);
}

ExpressionParser::Parsed ExpressionParser::parse_tuple_without_if() {
  return parse_tuple(InlineIf::forbidden);
}

ExpressionParser::Parsed ExpressionParser::parse_tuple(InlineIf inline_if) {
  const auto one = [&] { return inline_if == InlineIf::allowed ? parse() : parse_or(); };
  const int line = cursor_.line();
  TRY(ExpressionPtr first, one());
  if (!cursor_.at_symbol(",")) return first;
  ListDisplay node{.tuple = true};
  node.items.push_back(std::move(first));
  while (cursor_.skip_symbol(",")) {
    const bool ended = cursor_.at(TokenKind::block_end) || cursor_.at(TokenKind::variable_end) ||
                       cursor_.at_symbol(")") || cursor_.at_symbol("=");
    if (ended) break;
    TRY(node.items.emplace_back(), one());
  }
  return make(line, std::move(node));
}

ExpressionParser::Parsed ExpressionParser::parse_or() {
  TRY(ExpressionPtr left, parse_and());
  while (cursor_.at_name("or")) {
    const int line = cursor_.take().line;
    TRY(ExpressionPtr right, parse_and());
    TRY(left, make(line, Binary{BinaryOperator::logical_or, std::move(left), std::move(right)}));
  }
  return left;
}

ExpressionParser::Parsed ExpressionParser::parse_and() {
  TRY(ExpressionPtr left, parse_not());
  while (cursor_.at_name("and")) {
    const int line = cursor_.take().line;
    TRY(ExpressionPtr right, parse_not());
    TRY(left, make(line, Binary{BinaryOperator::logical_and, std::move(left), std::move(right)}));
  }
  return left;
}

ExpressionParser::Parsed ExpressionParser::parse_not() {
  if (!cursor_.at_name("not")) return parse_comparison();
  const Nested nested(nesting_);
  if (nesting_ > kMaxTreeDepth) return cursor_.failed("the expression is too deep");
  const int line = cursor_.take().line;
  TRY(ExpressionPtr operand, parse_not());
  return make(line, Unary{UnaryOperator::logical_not, std::move(operand)});
}

bool ExpressionParser::at_comparator() const {
  if (cursor_.at_name("in")) return true;
  if (cursor_.at_name("not")) {
    return cursor_.peek(1).kind == TokenKind::name && cursor_.peek(1).text == "in";
  }
  for (const char* symbol : {"==", "!=", "<", "<=", ">", ">="}) {
    if (cursor_.at_symbol(symbol)) return true;
  }
  return false;
}

Comparator ExpressionParser::take_comparator() {
  const std::string symbol = cursor_.take().text;
  if (symbol == "==") return Comparator::equal;
  if (symbol == "!=") return Comparator::not_equal;
  if (symbol == "<") return Comparator::less;
  if (symbol == "<=") return Comparator::less_equal;
  if (symbol == ">") return Comparator::greater;
  if (symbol == ">=") return Comparator::greater_equal;
  if (symbol == "in") return Comparator::in;
  cursor_.skip_name("in");
  return Comparator::not_in;
}

ExpressionParser::Parsed ExpressionParser::parse_comparison() {
  const int line = cursor_.line();
  TRY(ExpressionPtr first, parse_sum());
  if (!at_comparator()) return first;
  Comparison node{.first = std::move(first), .rest = {}};
  while (at_comparator()) {
    const Comparator comparator = take_comparator();
    TRY(ExpressionPtr operand, parse_sum());
    node.rest.emplace_back(comparator, std::move(operand));
  }
  return make(line, std::move(node));
}

ExpressionParser::Parsed ExpressionParser::parse_sum() {
  TRY(ExpressionPtr left, parse_concatenation());
  while (cursor_.at_symbol("+") || cursor_.at_symbol("-")) {
    const Token symbol = cursor_.take();
    TRY(ExpressionPtr right, parse_concatenation());
    const auto op = symbol.text == "+" ? BinaryOperator::add : BinaryOperator::subtract;
    TRY(left, make(symbol.line, Binary{op, std::move(left), std::move(right)}));
  }
  return left;
}

ExpressionParser::Parsed ExpressionParser::parse_concatenation() {
  const int line = cursor_.line();
  TRY(ExpressionPtr first, parse_product());
  if (!cursor_.at_symbol("~")) return first;
  Concatenation node;
  node.parts.push_back(std::move(first));
  while (cursor_.skip_symbol("~")) {
    TRY(node.parts.emplace_back(), parse_product());
  }
  return make(line, std::move(node));
}

ExpressionParser::Parsed ExpressionParser::parse_product() {
  TRY(ExpressionPtr left, parse_power());
  while (cursor_.at_symbol("*") || cursor_.at_symbol("/") || cursor_.at_symbol("//") ||
         cursor_.at_symbol("%")) {
    const Token symbol = cursor_.take();
    TRY(ExpressionPtr right, parse_power());
    const auto op = symbol.text == "*"    ? BinaryOperator::multiply
                    : symbol.text == "/"  ? BinaryOperator::divide
                    : symbol.text == "//" ? BinaryOperator::floor_divide
                                          : BinaryOperator::modulo;
    TRY(left, make(symbol.line, Binary{op, std::move(left), std::move(right)}));
  }
  return left;
}

ExpressionParser::Parsed ExpressionParser::parse_power() {
  TRY(ExpressionPtr left, parse_filtered());
  while (cursor_.at_symbol("**")) {
    const int line = cursor_.take().line;
    TRY(ExpressionPtr right, parse_filtered());
    TRY(left, make(line, Binary{BinaryOperator::power, std::move(left), std::move(right)}));
  }
  return left;
}

// Parses a sign, or a primary expression and its suffixes, but no filters: -x|f is (-x)|f.
ExpressionParser::Parsed ExpressionParser::parse_unary() {
  if (!cursor_.at_symbol("-") && !cursor_.at_symbol("+")) {
    TRY(ExpressionPtr primary, parse_primary());
    return parse_postfix(std::move(primary));
  }
  const Nested nested(nesting_);
  if (nesting_ > kMaxTreeDepth) return cursor_.failed("the expression is too deep");
  const Token symbol = cursor_.take();
  TRY(ExpressionPtr operand, parse_unary());
  const auto op = symbol.text == "-" ? UnaryOperator::negate : UnaryOperator::plus;
  return make(symbol.line, Unary{op, std::move(operand)});
}

ExpressionParser::Parsed ExpressionParser::parse_filtered() {
  TRY(ExpressionPtr value, parse_unary());
  while (true) {
    if (cursor_.at_symbol("|")) {
      TRY(value, parse_filter(std::move(value)));
    } else if (cursor_.at_name("is")) {
      TRY(value, parse_test(std::move(value)));
    } else if (cursor_.at_symbol("(")) {
      const int line = cursor_.line();
      TRY(auto arguments, parse_arguments());
      TRY(value, make(line, Call{std::move(value), std::move(arguments)}));
    } else {
      return value;
    }
  }
}

}  // namespace kvasir::text::jinja

#include <algorithm>
#include <utility>

#include "text/jinja/evaluator.h"
#include "text/jinja/operators.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {}  // namespace

Result<Value> Evaluator::evaluate(const Expression& expression) {
  Result<Value> value = [&]() -> Result<Value> {
    TRY_OK(context_.budget.steps(1));
    if (depth_ >= kMaxEvaluationDepth) return failure("blocks and calls nest too deep");
    ++depth_;
    auto result = std::visit([this](const auto& node) { return evaluate_node(node); }, expression.node);
    --depth_;
    if (result.ok() && result->depth() > kMaxDepth)
      return failure("values nest deeper than {} levels", kMaxDepth);
    return result;
  }();
  if (!value.ok()) return at_line(std::move(value).error(), expression.line);
  return value;
}

Result<Value> Evaluator::evaluate_node(const Constant& node) {
  return node.value;
}

Result<Value> Evaluator::evaluate_node(const Name& node) {
  if (const Value* value = find(node.name)) return *value;
  if (const Operation global = find_global(node.name)) {
    return Value(std::make_shared<const Method>(Method{Value(), global}));
  }
  return Value::undefined(fmt::format("'{}' is undefined", node.name));
}

Result<Value> Evaluator::evaluate_node(const ListDisplay& node) {
  TRY_OK(context_.budget.bytes(node.items.size() * kValueBytes));
  std::vector<Value> items;
  items.reserve(node.items.size());
  for (const auto& item : node.items) {
    TRY(items.emplace_back(), evaluate(*item));
  }
  return node.tuple ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

Result<Value> Evaluator::evaluate_node(const DictDisplay& node) {
  TRY_OK(context_.budget.bytes(node.entries.size() * kValueBytes * 2));
  Dict dict;
  for (const auto& [key_expression, value_expression] : node.entries) {
    TRY(Value key, evaluate(*key_expression));
    if (!hashable(key)) return failure("unhashable type: '{}'", key.type_name());
    TRY(Value value, evaluate(*value_expression));
    dict.set(std::move(key), std::move(value));
  }
  return Value::dict(std::move(dict));
}

Result<Value> Evaluator::evaluate_node(const Unary& node) {
  TRY(const Value operand, evaluate(*node.operand));
  return apply(node.op, operand);
}

Result<Value> Evaluator::evaluate_node(const Binary& node) {
  TRY(Value left, evaluate(*node.left));
  if (node.op == BinaryOperator::logical_and && !left.truthy()) return left;
  if (node.op == BinaryOperator::logical_or && left.truthy()) return left;
  TRY(Value right, evaluate(*node.right));
  if (node.op == BinaryOperator::logical_and || node.op == BinaryOperator::logical_or) return right;
  return apply(context_, node.op, std::move(left), std::move(right));
}

Result<Value> Evaluator::evaluate_node(const Concatenation& node) {
  Prompt joined;
  for (const auto& part : node.parts) {
    TRY(const Value value, evaluate(*part));
    TRY(const Prompt text, printed(context_, value));
    joined.append(text);
  }
  return Value::text(std::move(joined));
}

Result<Value> Evaluator::evaluate_node(const Comparison& node) {
  TRY(Value left, evaluate(*node.first));
  for (const auto& [comparator, operand] : node.rest) {
    TRY(Value right, evaluate(*operand));
    TRY(const bool holds, compare(context_, comparator, left, right));
    if (!holds) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Result<Value> Evaluator::evaluate_node(const Conditional& node) {
  TRY(const Value test, evaluate(*node.test));
  if (test.truthy()) return evaluate(*node.then);
  if (node.otherwise) return evaluate(*node.otherwise);
  return Value::undefined("the inline if-expression evaluated to false and no else section was defined");
}

Result<Value> Evaluator::evaluate_node(const AttributeAccess& node) {
  TRY(const Value object, evaluate(*node.object));
  if (object.is_undefined()) return undefined_error(object);
  return attribute_of(object, node.name);
}

Result<Value> Evaluator::evaluate_node(const ItemAccess& node) {
  TRY(const Value object, evaluate(*node.object));
  if (object.is_undefined()) return undefined_error(object);
  TRY(const Value key, evaluate(*node.key));
  TRY_OK(context_.budget.steps(key.weight() + (object.is_text() ? object.weight() : 0)));
  return item_of(object, key);
}

Result<Value> Evaluator::evaluate_node(const SliceAccess& node) {
  TRY(const Value object, evaluate(*node.object));
  SliceBounds bounds;
  if (node.begin) {
    TRY(bounds.begin, evaluate(*node.begin));
  }
  if (node.end) {
    TRY(bounds.end, evaluate(*node.end));
  }
  if (node.step) {
    TRY(bounds.step, evaluate(*node.step));
  }
  return slice(context_, object, bounds);
}

Result<Value> Evaluator::evaluate_node(const FilterCall& node) {
  Value subject;
  if (node.subject) {
    TRY(subject, evaluate(*node.subject));
  } else {
    CHECK(filter_subject_ != nullptr, "a filter without a subject outside of a block");
    subject = *filter_subject_;
  }
  const Operation filter = find_filter(node.name);
  if (filter == nullptr) return failure("no filter named '{}'", node.name);
  TRY(const Arguments arguments, evaluate_arguments(node.arguments));
  return filter(context_, subject, arguments);
}

Result<Value> Evaluator::evaluate_node(const TestCall& node) {
  TRY(const Value subject, evaluate(*node.subject));
  const Operation test = find_test(node.name);
  if (test == nullptr) return failure("no test named '{}'", node.name);
  TRY(const Arguments arguments, evaluate_arguments(node.arguments));
  return test(context_, subject, arguments);
}

}  // namespace kvasir::text::jinja

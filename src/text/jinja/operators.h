#pragma once

#include "base/result.h"
#include "text/jinja/ast.h"
#include "text/jinja/callable.h"

namespace kvasir::text::jinja {

// Apply Python's operators, except `and` and `or`. Integers have 64 bits, and an overflow is an error.
base::Result<Value> apply(Context& context, BinaryOperator op, Value left, Value right);
base::Result<Value> apply(UnaryOperator op, const Value& operand);
base::Result<bool> compare(Context& context, Comparator comparator, const Value& left, const Value& right);
base::Result<bool> contains(Context& context, const Value& container, const Value& item);

struct SliceBounds {
  Value begin = Value::none();
  Value end = Value::none();
  Value step = Value::none();
};
base::Result<Value> slice(Context& context, const Value& object, const SliceBounds& bounds);

// Implements Python's `format % arguments`.
base::Result<Value> format_percent(Context& context, const Prompt& format, const Value& arguments);
// Implements Python's `format.format(arguments)`.
base::Result<Value> format_braces(Context& context, const Prompt& format, const Arguments& arguments);

}  // namespace kvasir::text::jinja

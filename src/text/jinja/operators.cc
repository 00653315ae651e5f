#include "text/jinja/operators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "text/jinja/characters.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

base::Error unsupported(std::string_view symbol, const Value& left, const Value& right) {
  for (const Value* value : {&left, &right}) {
    if (const auto* undefined = value->as<Undefined>(); undefined != nullptr && undefined->why) {
      return failure("{}", *undefined->why);
    }
  }
  if (symbol == "+" && left.is_text()) {
    return failure("can only concatenate str (not \"{}\") to str", right.type_name());
  }
  return failure("unsupported operand type(s) for {}: '{}' and '{}'", symbol, left.type_name(),
                 right.type_name());
}

std::string_view symbol_of(BinaryOperator op) {
  switch (op) {
    case BinaryOperator::add:
      return "+";
    case BinaryOperator::subtract:
      return "-";
    case BinaryOperator::multiply:
      return "*";
    case BinaryOperator::divide:
      return "/";
    case BinaryOperator::floor_divide:
      return "//";
    case BinaryOperator::modulo:
      return "%";
    case BinaryOperator::power:
      return "**";
    case BinaryOperator::logical_and:
      return "and";
    case BinaryOperator::logical_or:
      return "or";
  }
  return "?";
}

// Divides as Python does: the quotient is rounded towards minus infinity.
std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// A result that is a complex number in Python, or an overflow, is an error here.
Result<Value> real_power(double a, double b) {
  if (a == 0 && b < 0) return failure("0.0 cannot be raised to a negative power");
  const double power = std::pow(a, b);
  if (std::isnan(power) && !std::isnan(a) && !std::isnan(b)) return failure("the power is not a real number");
  if (std::isinf(power) && !std::isinf(a) && !std::isinf(b)) return failure("the number is too large");
  return Value(power);
}

Result<Value> integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return real_power(static_cast<double>(base), static_cast<double>(exponent));
  std::int64_t power = 1;
  // With any other base, a power with an exponent above 62 does not fit into 64 bits.
  if (exponent > 62 && base != 0 && base != 1 && base != -1) return failure("the number is too large");
  if (exponent > 62) exponent = 62 + exponent % 2;
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(power, base, &power)) return failure("the number is too large");
  }
  return Value(power);
}

Result<Value> apply_integers(BinaryOperator op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case BinaryOperator::add:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case BinaryOperator::subtract:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case BinaryOperator::multiply:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case BinaryOperator::power:
      return integer_power(a, b);
    default:
      if (b == 0) return failure("division by zero");
      if (op == BinaryOperator::divide) return Value(static_cast<double>(a) / static_cast<double>(b));
      if (b == -1) {
        overflow = op == BinaryOperator::floor_divide && __builtin_sub_overflow(std::int64_t{0}, a, &result);
        break;
      }
      result = floor_quotient(a, b);
      if (op == BinaryOperator::modulo) result = a - result * b;
  }
  if (overflow) return failure("the number is too large");
  return Value(result);
}

// The results of Python's // and % on floats: the remainder has the divisor's sign, and quotient * divisor +
// remainder is the dividend.
struct Division {
  double quotient;
  double remainder;
};

Division divide(double a, double b) {
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0 && (b < 0) != (remainder < 0)) {
    remainder += b;
    quotient -= 1;
  } else if (remainder == 0) {
    remainder = std::copysign(0.0, b);
  }
  if (quotient == 0) return {std::copysign(0.0, a / b), remainder};
  double whole = std::floor(quotient);
  if (quotient - whole > 0.5) whole += 1;
  return {whole, remainder};
}

Result<Value> apply_reals(BinaryOperator op, double a, double b) {
  switch (op) {
    case BinaryOperator::add:
      return Value(a + b);
    case BinaryOperator::subtract:
      return Value(a - b);
    case BinaryOperator::multiply:
      return Value(a * b);
    case BinaryOperator::power:
      return real_power(a, b);
    default:
      if (b == 0) return failure("division by zero");
      if (op == BinaryOperator::divide) return Value(a / b);
      if (op == BinaryOperator::floor_divide) return Value(divide(a, b).quotient);
      return Value(divide(a, b).remainder);
  }
}

Result<Value> repeat(Context& context, const Value& sequence, std::int64_t count) {
  const auto times = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  const std::size_t size = sequence.is_text() ? sequence.str().size() : sequence.items().size() * kValueBytes;
  if (size > 0 && times > std::numeric_limits<std::uint32_t>::max())
    return failure("the result is too large");
  TRY_OK(context.budget.bytes(size * times));
  TRY_OK(context.budget.steps(size == 0 ? 0 : times));
  if (sequence.is_text()) {
    Prompt repeated;
    for (std::size_t i = 0; i < times && size > 0; ++i) repeated.append(sequence.prompt());
    return Value::text(std::move(repeated));
  }
  std::vector<Value> items;
  for (std::size_t i = 0; i < times && size > 0; ++i) {
    items.insert(items.end(), sequence.items().begin(), sequence.items().end());
  }
  return sequence.is_tuple() ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

Result<Value> add_sequences(Context& context, Value left, const Value& right) {
  if (left.is_text()) {
    TRY_OK(context.budget.bytes(right.str().size()));
    Prompt joined = std::move(left).take_text();
    joined.append(right.prompt());
    return Value::text(std::move(joined));
  }
  TRY_OK(context.budget.bytes((left.items().size() + right.items().size()) * kValueBytes));
  std::vector<Value> items = left.items();
  items.insert(items.end(), right.items().begin(), right.items().end());
  return left.is_tuple() ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

}  // namespace

Result<Value> apply(Context& context, BinaryOperator op, Value left, Value right) {
  if (left.is_number() && right.is_number()) {
    if (left.is_integer() && right.is_integer()) return apply_integers(op, left.integer(), right.integer());
    return apply_reals(op, left.real(), right.real());
  }
  if (op == BinaryOperator::add) {
    const bool texts = left.is_text() && right.is_text();
    const bool lists = (left.is_list() && right.is_list()) || (left.is_tuple() && right.is_tuple());
    if (texts || lists) return add_sequences(context, std::move(left), right);
  }
  if (op == BinaryOperator::multiply) {
    const auto repeats = [](const Value& value) {
      return value.is_text() || value.is_list() || value.is_tuple();
    };
    if (repeats(left) && right.is_integer()) return repeat(context, left, right.integer());
    if (left.is_integer() && repeats(right)) return repeat(context, right, left.integer());
  }
  if (op == BinaryOperator::modulo && left.is_text()) return format_percent(context, left.prompt(), right);
  return unsupported(symbol_of(op), left, right);
}

Result<Value> apply(UnaryOperator op, const Value& operand) {
  if (op == UnaryOperator::logical_not) return Value(!operand.truthy());
  if (operand.is_undefined()) return undefined_error(operand);
  if (!operand.is_number()) return failure("bad operand type for unary sign: '{}'", operand.type_name());
  if (op == UnaryOperator::plus) return operand.is<bool>() ? Value(operand.integer()) : operand;
  if (operand.is<double>()) return Value(-operand.real());
  return apply_integers(BinaryOperator::subtract, 0, operand.integer());
}

Result<bool> contains(Context& context, const Value& container, const Value& item) {
  if (container.is_text()) {
    TRY_OK(context.budget.steps(container.weight() + item.weight()));
    if (!item.is_text()) {
      return failure("'in <string>' requires string as left operand, not {}", item.type_name());
    }
    return find_text(container.str(), item.str()) != std::string::npos;
  }
  if (container.is_dict()) {
    if (!hashable(item)) return failure("unhashable type: '{}'", item.type_name());
    TRY_OK(context.budget.steps(item.weight()));
    return container.mapping().find(item) != nullptr;
  }
  if (container.is_iterator()) {
    const Sequence& all = container.sequence();
    while (all.num_taken < all.items.size()) {
      const Value& candidate = all.items[all.num_taken++];
      TRY_OK(context.budget.steps(std::min(candidate.weight(), item.weight())));
      if (equal(candidate, item)) return true;
    }
    return false;
  }
  if (container.is_sequence()) {
    for (const Value& candidate : container.items()) {
      TRY_OK(context.budget.steps(std::min(candidate.weight(), item.weight())));
      if (equal(candidate, item)) return true;
    }
    return false;
  }
  if (container.is_undefined()) return false;
  return failure("argument of type '{}' is not iterable", container.type_name());
}

Result<bool> compare(Context& context, Comparator comparator, const Value& left, const Value& right) {
  TRY_OK(context.budget.steps(std::min(left.weight(), right.weight())));
  switch (comparator) {
    case Comparator::equal:
      return equal(left, right);
    case Comparator::not_equal:
      return !equal(left, right);
    case Comparator::in:
      return contains(context, right, left);
    case Comparator::not_in: {
      TRY(const bool found, contains(context, right, left));
      return !found;
    }
    case Comparator::less:
      return less(left, right);
    case Comparator::greater:
      return less(right, left);
    case Comparator::less_equal: {
      TRY(const bool smaller, less(left, right));
      return smaller || equal(left, right);
    }
    case Comparator::greater_equal: {
      TRY(const bool larger, less(right, left));
      return larger || equal(left, right);
    }
  }
  return false;
}

}  // namespace kvasir::text::jinja

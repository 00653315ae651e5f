#include <array>
#include <cmath>

#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"
#include "text/jinja/operators.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

// A test without arguments.
template <bool (*kPredicate)(const Value&)>
Result<Value> plain(Context&, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  return Value(kPredicate(subject));
}

template <Comparator kComparator>
Result<Value> comparing(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"other"}));
  const Value* other = arguments.find(0, "other");
  if (other == nullptr) return failure("the test needs an argument");
  TRY(const bool holds, compare(context, kComparator, subject, *other));
  return Value(holds);
}

bool is_defined(const Value& value) {
  return !value.is_undefined();
}
bool is_undefined(const Value& value) {
  return value.is_undefined();
}
bool is_none(const Value& value) {
  return value.is_none();
}
bool is_boolean(const Value& value) {
  return value.is<bool>();
}
bool is_true(const Value& value) {
  return value.is<bool>() && value.truthy();
}
bool is_false(const Value& value) {
  return value.is<bool>() && !value.truthy();
}
bool is_string(const Value& value) {
  return value.is_text();
}
bool is_mapping(const Value& value) {
  return value.is_dict();
}
bool is_sequence(const Value& value) {
  return value.is_list() || value.is_text() || value.is_dict() || value.is_undefined();
}
bool is_number(const Value& value) {
  return value.is_number();
}
bool is_integer(const Value& value) {
  return value.is<std::int64_t>();
}
bool is_real(const Value& value) {
  return value.is<double>();
}
bool is_callable(const Value& value) {
  return value.is_callable();
}
bool is_lower(const Value& value) {
  return value.is_text() && lower(value.str()) == value.str() && upper(value.str()) != value.str();
}
bool is_upper(const Value& value) {
  return value.is_text() && upper(value.str()) == value.str() && lower(value.str()) != value.str();
}
bool is_escaped(const Value&) {
  return false;
}

Result<Value> divisible(Context& context, const Value& subject, std::int64_t divisor) {
  TRY(const Value rest, apply(context, BinaryOperator::modulo, subject, Value(divisor)));
  return Value(rest.is_number() && rest.real() == 0);
}

Result<Value> even(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  return divisible(context, subject, 2);
}

Result<Value> odd(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  TRY(const Value is_even, divisible(context, subject, 2));
  return Value(!is_even.truthy());
}

Result<Value> divisible_by(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"num"}));
  TRY(const std::int64_t divisor, integer_argument(arguments.find(0, "num"), 0));
  return divisible(context, subject, divisor);
}

Result<Value> same_as(Context&, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"other"}));
  const Value* other = arguments.find(0, "other");
  if (other == nullptr) return failure("sameas needs an argument");
  return Value(subject.type_name() == other->type_name() && equal(subject, *other));
}

Result<Value> is_filter(Context&, const Value& subject, const Arguments&) {
  return Value(subject.is_text() && find_filter(subject.str()) != nullptr);
}

Result<Value> is_test(Context&, const Value& subject, const Arguments&) {
  return Value(subject.is_text() && find_test(subject.str()) != nullptr);
}

constexpr std::array<NamedOperation, 39> kTests = {{
    {"defined", plain<is_defined>},
    {"undefined", plain<is_undefined>},
    {"none", plain<is_none>},
    {"boolean", plain<is_boolean>},
    {"true", plain<is_true>},
    {"false", plain<is_false>},
    {"string", plain<is_string>},
    {"mapping", plain<is_mapping>},
    {"sequence", plain<is_sequence>},
    {"iterable", plain<is_sequence>},
    {"number", plain<is_number>},
    {"integer", plain<is_integer>},
    {"float", plain<is_real>},
    {"callable", plain<is_callable>},
    {"lower", plain<is_lower>},
    {"upper", plain<is_upper>},
    {"escaped", plain<is_escaped>},
    {"even", even},
    {"odd", odd},
    {"divisibleby", divisible_by},
    {"sameas", same_as},
    {"filter", is_filter},
    {"test", is_test},
    {"in", comparing<Comparator::in>},
    {"eq", comparing<Comparator::equal>},
    {"==", comparing<Comparator::equal>},
    {"equalto", comparing<Comparator::equal>},
    {"ne", comparing<Comparator::not_equal>},
    {"!=", comparing<Comparator::not_equal>},
    {"lt", comparing<Comparator::less>},
    {"<", comparing<Comparator::less>},
    {"lessthan", comparing<Comparator::less>},
    {"le", comparing<Comparator::less_equal>},
    {"<=", comparing<Comparator::less_equal>},
    {"gt", comparing<Comparator::greater>},
    {">", comparing<Comparator::greater>},
    {"greaterthan", comparing<Comparator::greater>},
    {"ge", comparing<Comparator::greater_equal>},
    {">=", comparing<Comparator::greater_equal>},
}};

}  // namespace

Operation find_test(std::string_view name) {
  for (const NamedOperation& test : kTests) {
    if (test.name == name) return test.operation;
  }
  return nullptr;
}

}  // namespace kvasir::text::jinja

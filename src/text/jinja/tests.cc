#include <algorithm>
#include <array>
#include <cmath>

#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"
#include "text/jinja/operators.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

// Makes a test without arguments from a predicate.
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
bool is_iterable(const Value& value) {
  return value.is_sequence() || value.is_text() || value.is_dict() || value.is_undefined();
}
bool is_sequence(const Value& value) {
  return is_iterable(value) && (!value.is_sequence() || value.is_indexed());
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
  return value.is_callable() || value.is_undefined();
}
bool is_escaped(const Value& value) {
  return value.is_markup();
}

template <bool (*kPredicate)(std::string_view)>
Result<Value> in_case(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  TRY(const Prompt text, printed(context, subject));
  return Value(kPredicate(text.text));
}

// Whether subject % divisor equals `remainder`.
Result<Value> leaves(Context& context, const Value& subject, const Value& divisor, std::int64_t remainder) {
  TRY(const Value rest, apply(context, BinaryOperator::modulo, subject, divisor));
  return Value(equal(rest, Value(remainder)));
}

Result<Value> even(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  return leaves(context, subject, Value(std::int64_t{2}), 0);
}

Result<Value> odd(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  return leaves(context, subject, Value(std::int64_t{2}), 1);
}

Result<Value> divisible_by(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"num"}));
  const Value* divisor = arguments.find(0, "num");
  if (divisor == nullptr) return failure("divisibleby needs a number");
  return leaves(context, subject, *divisor, 0);
}

// Implements Python's `is`, except that equal strings and equal numbers of one type count as the same object.
Result<Value> same_as(Context&, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"other"}));
  const Value* other = arguments.find(0, "other");
  if (other == nullptr) return failure("sameas needs an argument");
  return Value(subject.is_identical(*other));
}

// Whether the value has a hash in Python, even if it cannot be a key here.
bool has_hash(const Value& value) {
  if (value.is_tuple()) return std::all_of(value.items().begin(), value.items().end(), has_hash);
  return !value.is_list() && !value.is_dict() && !value.is(Sequence::Kind::keys) &&
         !value.is(Sequence::Kind::pairs);
}

base::Status check_name(Context& context, const Value& subject) {
  TRY_OK(context.budget.steps(subject.weight()));
  if (!has_hash(subject)) return failure("unhashable type: '{}'", subject.type_name());
  return base::ok();
}

Result<Value> is_filter(Context& context, const Value& subject, const Arguments&) {
  TRY_OK(check_name(context, subject));
  return Value(subject.is_text() && find_filter(subject.str()) != nullptr);
}

Result<Value> is_test(Context& context, const Value& subject, const Arguments&) {
  TRY_OK(check_name(context, subject));
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
    {"iterable", plain<is_iterable>},
    {"number", plain<is_number>},
    {"integer", plain<is_integer>},
    {"float", plain<is_real>},
    {"callable", plain<is_callable>},
    {"lower", in_case<is_lower_text>},
    {"upper", in_case<is_upper_text>},
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

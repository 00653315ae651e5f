#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <utility>

#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

// The limit is the same as that of Jinja2's sandbox.
constexpr std::int64_t kMaxRange = 100'000;

Result<Value> range(Context& context, const Value&, const Arguments& arguments) {
  TRY_OK(arguments.by_position(1, 3));
  std::array<std::int64_t, 3> bounds = {0, 0, 1};
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
    if (!arguments.positional[i].is_integer()) return failure("range() takes integers");
    bounds[i] = arguments.positional[i].integer();
  }
  if (arguments.positional.size() == 1) bounds = {0, bounds[0], 1};
  const auto [start, stop, step] = bounds;
  if (step == 0) return failure("range() arg 3 must not be zero");
  const long double span = static_cast<long double>(stop) - static_cast<long double>(start);
  const long double count = std::max(0.0L, std::ceil(span / static_cast<long double>(step)));
  if (count > kMaxRange) return failure("range() is longer than {}", kMaxRange);
  TRY_OK(context.budget.steps(static_cast<std::size_t>(count)));
  TRY_OK(context.budget.bytes(static_cast<std::size_t>(count) * sizeof(Value)));
  return Value::range(bounds);
}

// Makes the dict of dict(mapping, name=value) or dict(pairs). namespace() takes the same arguments.
Result<Dict> dict_of(Context& context, const Arguments& arguments) {
  if (arguments.positional.size() > 1) return failure("takes at most one mapping or list of pairs");
  Dict dict;
  if (!arguments.positional.empty() && arguments.positional[0].is_dict()) {
    dict = arguments.positional[0].mapping();
    TRY_OK(context.budget.steps(dict.entries().size()));
  } else if (!arguments.positional.empty()) {
    TRY(const auto pairs, iterate(context, arguments.positional[0]));
    for (const Value& pair : pairs) {
      TRY(const auto parts, iterate(context, pair));
      if (parts.size() != 2) return failure("takes a mapping or pairs of a key and a value");
      if (!hashable(parts[0])) return failure("unhashable type: '{}'", parts[0].type_name());
      dict.set(parts[0], parts[1]);
    }
  }
  for (const auto& [name, value] : arguments.named) dict.set(Value::literal(name), value);
  TRY_OK(context.budget.bytes(128 * dict.entries().size()));
  return dict;
}

Result<Value> make_namespace(Context& context, const Value&, const Arguments& arguments) {
  TRY_OK(context.budget.bytes(256));
  TRY(const Dict dict, dict_of(context, arguments));
  Namespace space;
  for (const auto& [key, value] : dict.entries()) {
    if (key.is_text()) space.members[key.str()] = std::make_shared<Value>(value);
  }
  context.namespaces.push_back(std::move(space));
  return Value(&context.namespaces.back());
}

Result<Value> make_dict(Context& context, const Value&, const Arguments& arguments) {
  TRY(Dict dict, dict_of(context, arguments));
  return Value::dict(std::move(dict));
}

Result<Value> raise_exception(Context&, const Value&, const Arguments& arguments) {
  const Value* message = arguments.find(0, "message");
  TRY_OK(arguments.only({"message"}));
  return failure(
      "{}", message != nullptr && message->is_text() ? message->str() : "the template raised an exception");
}

Result<Value> strftime_now(Context& context, const Value&, const Arguments& arguments) {
  TRY_OK(arguments.only({"format"}));
  if (arguments.find(0, "format") == nullptr) return failure("strftime_now() needs a format");
  TRY(const std::string format, text_argument(arguments.find(0, "format"), ""));
  std::tm local{};
  localtime_r(&context.now, &local);
  std::array<char, 512> buffer;
  const std::size_t size = std::strftime(buffer.data(), buffer.size(), format.c_str(), &local);
  return Value::text(marked_like(std::string(buffer.data(), size), arguments.find(0, "format")->prompt()));
}

constexpr std::array<NamedOperation, 5> kGlobals = {{
    {"range", range},
    {"namespace", make_namespace},
    {"dict", make_dict},
    {"raise_exception", raise_exception},
    {"strftime_now", strftime_now},
}};

}  // namespace

Operation find_global(std::string_view name) {
  for (const NamedOperation& global : kGlobals) {
    if (global.name == name) return global.operation;
  }
  return nullptr;
}

}  // namespace kvasir::text::jinja

#include <array>
#include <ctime>
#include <utility>

#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

// As Jinja2's sandbox bounds it.
constexpr std::int64_t kMaxRange = 100'000;

Result<Value> range(Context& context, const Value&, const Arguments& arguments) {
  TRY_OK(arguments.only({"start", "stop", "step"}));
  if (arguments.positional.empty() || !arguments.named.empty())
    return failure("range() takes 1 to 3 integers");
  std::array<std::int64_t, 3> bounds = {0, 0, 1};
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
    TRY(bounds[i], integer_argument(&arguments.positional[i], 0));
  }
  if (arguments.positional.size() == 1) bounds = {0, bounds[0], 1};
  const auto [start, stop, step] = bounds;
  if (step == 0) return failure("range() arg 3 must not be zero");
  std::vector<Value> numbers;
  for (std::int64_t at = start; step > 0 ? at < stop : at > stop;) {
    if (static_cast<std::int64_t>(numbers.size()) >= kMaxRange)
      return failure("range() is longer than {}", kMaxRange);
    numbers.emplace_back(at);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  TRY_OK(context.budget.steps(numbers.size()));
  TRY_OK(context.budget.bytes(numbers.size() * sizeof(Value)));
  return Value::list(std::move(numbers));
}

Result<Value> make_namespace(Context& context, const Value&, const Arguments& arguments) {
  TRY_OK(context.budget.bytes(256 + 128 * arguments.named.size()));
  if (arguments.positional.size() > 1) return failure("namespace() takes at most one mapping");
  Namespace space;
  if (!arguments.positional.empty()) {
    if (!arguments.positional[0].is_dict()) return failure("namespace() takes a mapping");
    for (const auto& [key, value] : arguments.positional[0].mapping().entries()) {
      space.members[to_text(key).text] = std::make_shared<Value>(value);
    }
  }
  for (const auto& [name, value] : arguments.named) space.members[name] = std::make_shared<Value>(value);
  context.namespaces.push_back(std::move(space));
  return Value(&context.namespaces.back());
}

Result<Value> make_dict(Context&, const Value&, const Arguments& arguments) {
  if (arguments.positional.size() > 1) return failure("dict() takes at most one mapping");
  Dict dict;
  if (!arguments.positional.empty()) {
    if (!arguments.positional[0].is_dict()) return failure("dict() takes a mapping");
    dict = arguments.positional[0].mapping();
  }
  for (const auto& [name, value] : arguments.named) dict.set(Value::literal(name), value);
  return Value::dict(std::move(dict));
}

Result<Value> raise_exception(Context&, const Value&, const Arguments& arguments) {
  const Value* message = arguments.find(0, "message");
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

#pragma once

#include <ctime>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/jinja/value.h"

namespace kvasir::text::jinja {

struct For;
struct MacroStatement;
struct Scope;

// What a Value is taken to cost of a Budget's bytes.
inline constexpr std::size_t kValueBytes = 32;

// What a rendering may still spend. Every operation whose cost is not constant asks first.
class Budget {
 public:
  Budget() = default;
  Budget(std::size_t num_steps, std::size_t num_bytes) : steps_left_(num_steps), bytes_left_(num_bytes) {}

  base::Status steps(std::size_t count) { return spend(steps_left_, count, "steps"); }
  // For text and containers that are about to be made.
  base::Status bytes(std::size_t count) { return spend(bytes_left_, count, "bytes"); }

 private:
  static base::Status spend(std::size_t& left, std::size_t count, std::string_view what);

  std::size_t steps_left_ = 5'000'000;
  std::size_t bytes_left_ = std::size_t{256} << 20;
};

struct Context;

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  // By position or by name; null where not given.
  const Value* find(std::size_t position, std::string_view name) const;
  // An error where there are more or others than these, or one twice.
  base::Status only(std::initializer_list<std::string_view> names) const;
  // An error where there are names, or not so many.
  base::Status by_position(std::size_t least, std::size_t most) const;
};

// A filter, test, method or global function. `subject` is what it is applied to.
using Operation = base::Result<Value> (*)(Context& context, const Value& subject, const Arguments& arguments);

struct NamedOperation {
  std::string_view name;
  Operation operation;
};

Operation find_filter(std::string_view name);
Operation find_test(std::string_view name);
Operation find_global(std::string_view name);
// A method that Python's type of `subject` has.
Operation find_method(const Value& subject, std::string_view name);
// Python's type has it, and it would change the value.
bool is_changing_method(const Value& subject, std::string_view name);

// A method bound to what it is called on, or a global function.
struct Method {
  Value receiver;
  Operation operation = nullptr;
};

struct Macro {
  const MacroStatement* definition = nullptr;
  Scope* scope = nullptr;  // where it was defined
};

// The `loop` variable of one `for`.
struct Loop {
  std::vector<Value> items;
  std::size_t index = 0;
  int depth = 0;
  Value last_changed = {};  // of loop.changed()
  // Of a recursive loop, which calls itself with other items; else null.
  const For* statement = nullptr;
  Scope* scope = nullptr;  // where it stands
};

// What built-in operations share in one rendering.
struct Context {
  Budget budget;
  std::time_t now = 0;
  // Addresses stay; freed with the rendering, so that cycles through them are no leak.
  std::deque<Namespace> namespaces;
  std::deque<Loop> loops;
};

// object.name and object[key] as Jinja2 resolves them: a missing one is undefined.
Value attribute_of(const Value& object, std::string_view name);
Value item_of(const Value& object, const Value& key);
Value loop_attribute(Loop* loop, std::string_view name);

// The error of using what is not there. `value.is_undefined()`.
base::Error undefined_error(const Value& value);

// Value's text as it is printed, paid for.
base::Result<Prompt> printed(Context& context, const Value& value);

// What `for` and the list filters walk over; strings by character, dicts by key. Empties an iterator.
base::Result<std::vector<Value>> iterate(Context& context, const Value& value);

template <class... Args>
base::Error failure(fmt::format_string<Args...> format, Args&&... args) {
  return base::error(base::ErrorCode::invalid_argument, format, std::forward<Args>(args)...);
}

}  // namespace kvasir::text::jinja

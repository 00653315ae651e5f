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

// Bytes that a Value counts for in a Budget.
inline constexpr std::size_t kValueBytes = 32;

// The steps and bytes that a rendering may still use. Every operation whose cost is not constant must ask
// first.
class Budget {
 public:
  Budget() = default;
  Budget(std::size_t num_steps, std::size_t num_bytes) : steps_left_(num_steps), bytes_left_(num_bytes) {}

  base::Status steps(std::size_t count) { return spend(steps_left_, count, "steps"); }
  // For text and containers that are about to be created.
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

  // An argument by position or by name; null if it was not given.
  const Value* find(std::size_t position, std::string_view name) const;
  // An error if there are other arguments than these, or one is given twice.
  base::Status only(std::initializer_list<std::string_view> names) const;
  // An error if there are named arguments, or the number of arguments is out of range.
  base::Status by_position(std::size_t least, std::size_t most) const;
};

// A filter, test, method or global function. `subject` is the value that it is applied to.
using Operation = base::Result<Value> (*)(Context& context, const Value& subject, const Arguments& arguments);

struct NamedOperation {
  std::string_view name;
  Operation operation;
};

Operation find_filter(std::string_view name);
Operation find_test(std::string_view name);
Operation find_global(std::string_view name);
// A method of the Python type of `subject`; null if there is none.
Operation find_method(const Value& subject, std::string_view name);
// Whether the Python type has this method and it would change the value.
bool is_changing_method(const Value& subject, std::string_view name);

// A method bound to its receiver, or a global function.
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
  Value last_changed = {};  // for loop.changed()
  // Set only for a recursive loop, which calls itself with other items.
  const For* statement = nullptr;
  Scope* scope = nullptr;  // where the loop stands
};

// State that built-in operations share during one rendering.
struct Context {
  Budget budget;
  std::time_t now = 0;
  // Addresses are stable. Freed with the rendering, so that cycles do not leak.
  std::deque<Namespace> namespaces;
  std::deque<Loop> loops;
};

// object.name and object[key] as Jinja2 resolves them. A missing one is undefined.
Value attribute_of(const Value& object, std::string_view name);
Value item_of(const Value& object, const Value& key);
Value loop_attribute(Loop* loop, std::string_view name);

// The error of using a value that is undefined. Requires `value.is_undefined()`.
base::Error undefined_error(const Value& value);

// The printed text of a value. Charges the budget.
base::Result<Prompt> printed(Context& context, const Value& value);

// The items that `for` and the list filters iterate over: characters of a string, keys of a dict. Consumes an
// iterator.
base::Result<std::vector<Value>> iterate(Context& context, const Value& value);

template <class... Args>
base::Error failure(fmt::format_string<Args...> format, Args&&... args) {
  return base::error(base::ErrorCode::invalid_argument, format, std::forward<Args>(args)...);
}

}  // namespace kvasir::text::jinja

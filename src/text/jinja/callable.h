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

// The bytes for which a Budget is charged per Value.
inline constexpr std::size_t kValueBytes = 32;

// The steps and bytes that a rendering may still use. Every operation whose cost is not constant must charge
// the budget before it begins.
class Budget {
 public:
  Budget() = default;
  Budget(std::size_t num_steps, std::size_t num_bytes) : steps_left_(num_steps), bytes_left_(num_bytes) {}

  base::Status steps(std::size_t count) { return spend(steps_left_, count, "steps"); }
  // Charges for text and containers that are about to be created.
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

  // Returns an argument by its position or name; null if it was not given.
  const Value* find(std::size_t position, std::string_view name) const;
  // Fails if an argument with another name was given, or one was given twice.
  base::Status only(std::initializer_list<std::string_view> names) const;
  // Fails if there are named arguments, or if the number of arguments is out of range.
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
// Finds a method of the Python type of `subject`; null if there is none.
Operation find_method(const Value& subject, std::string_view name);
// Whether the Python type has this method and the method would change the value.
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
  Scope* scope = nullptr;  // the scope that contains the loop
};

// State that built-in operations share during one rendering.
struct Context {
  Budget budget;
  std::time_t now = 0;
  // Addresses in these stay valid. Both are freed with the rendering, so that cycles do not leak.
  std::deque<Namespace> namespaces;
  std::deque<Loop> loops;
};

// Returns object.name or object[key] as Jinja2 resolves them. The result is undefined if there is no such
// thing.
Value attribute_of(const Value& object, std::string_view name);
Value item_of(const Value& object, const Value& key);
Value loop_attribute(Loop* loop, std::string_view name);

// Returns the error of using an undefined value. Requires `value.is_undefined()`.
base::Error undefined_error(const Value& value);

// Returns the printed text of a value. Charges the budget.
base::Result<Prompt> printed(Context& context, const Value& value);

// Returns the items that `for` and the list filters iterate over: the characters of a string, the keys of a
// dict, and so on. Consumes an iterator.
base::Result<std::vector<Value>> iterate(Context& context, const Value& value);

template <class... Args>
base::Error failure(fmt::format_string<Args...> format, Args&&... args) {
  return base::error(base::ErrorCode::invalid_argument, format, std::forward<Args>(args)...);
}

}  // namespace kvasir::text::jinja

#include <array>
#include <utility>

#include "text/jinja/builtins.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

// map(attribute='a', default=…) or map('filter', arguments…)
Result<Value> map(Context& context, const Value& subject, const Arguments& arguments) {
  if (!subject.truthy()) return Value::iterator({});
  TRY(auto items, iterate(context, subject));
  if (arguments.positional.empty()) {
    TRY_OK(arguments.only({"attribute", "default"}));
    const Value* attribute = arguments.find(0, "attribute");
    const Value* fallback = given_argument(arguments, 1, "default");
    if (attribute == nullptr) return failure("map() needs a filter or an attribute");
    for (Value& item : items) {
      TRY(item, path_of(context, item, *attribute, fallback));
    }
    return Value::iterator(std::move(items));
  }
  TRY(const std::string name, text_argument(&arguments.positional[0], ""));
  const Operation filter = find_filter(name);
  if (filter == nullptr) return failure("no filter named '{}'", name);
  Arguments rest{.positional = {arguments.positional.begin() + 1, arguments.positional.end()},
                 .named = arguments.named};
  for (Value& item : items) {
    TRY_OK(context.budget.steps(1));
    TRY(item, filter(context, item, rest));
  }
  return Value::iterator(std::move(items));
}

struct Selection {
  const Value* attribute = nullptr;  // tested instead of the item
  std::size_t num_used = 0;          // positional arguments before the test's name
  bool keeps = true;                 // true: items that pass the test are kept; false: the others
};

Result<Value> select_by(Context& context, const Value& subject, const Arguments& arguments,
                        const Selection& selection) {
  if (!subject.truthy()) return Value::iterator({});
  TRY(const auto items, iterate(context, subject));
  Operation test = nullptr;
  Arguments rest;
  if (arguments.positional.size() > selection.num_used) {
    const auto name_at = arguments.positional.begin() + static_cast<std::ptrdiff_t>(selection.num_used);
    TRY(const std::string name, text_argument(&*name_at, ""));
    test = find_test(name);
    if (test == nullptr) return failure("no test named '{}'", name);
    rest = {.positional = {name_at + 1, arguments.positional.end()}, .named = arguments.named};
  }
  std::vector<Value> kept;
  for (const Value& item : items) {
    TRY_OK(context.budget.steps(1));
    Value tested = item;
    if (selection.attribute != nullptr) {
      TRY(tested, path_of(context, item, *selection.attribute));
    }
    bool passes = tested.truthy();
    if (test != nullptr) {
      TRY(const Value result, test(context, tested, rest));
      passes = result.truthy();
    }
    if (passes == selection.keeps) kept.push_back(item);
  }
  return Value::iterator(std::move(kept));
}

Result<Value> select(Context& context, const Value& subject, const Arguments& arguments) {
  return select_by(context, subject, arguments, {});
}

Result<Value> reject(Context& context, const Value& subject, const Arguments& arguments) {
  return select_by(context, subject, arguments, {.keeps = false});
}

Result<Value> select_attribute(Context& context, const Value& subject, const Arguments& arguments) {
  if (!subject.truthy()) return Value::iterator({});
  if (arguments.positional.empty()) return failure("selectattr() needs an attribute");
  return select_by(context, subject, arguments, {.attribute = &arguments.positional[0], .num_used = 1});
}

Result<Value> reject_attribute(Context& context, const Value& subject, const Arguments& arguments) {
  if (!subject.truthy()) return Value::iterator({});
  if (arguments.positional.empty()) return failure("rejectattr() needs an attribute");
  return select_by(context, subject, arguments,
                   {.attribute = &arguments.positional[0], .num_used = 1, .keeps = false});
}

constexpr std::array<NamedOperation, 5> kSelectionFilters = {{
    {"map", map},
    {"select", select},
    {"reject", reject},
    {"selectattr", select_attribute},
    {"rejectattr", reject_attribute},
}};

}  // namespace

std::span<const NamedOperation> selection_filters() {
  return kSelectionFilters;
}

}  // namespace kvasir::text::jinja

#include <algorithm>
#include <array>
#include <utility>

#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"
#include "text/jinja/operators.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

Result<Value> first(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  if (subject.is_iterator()) {
    const Sequence& all = subject.sequence();
    if (all.num_taken < all.items.size()) return all.items[all.num_taken++];
  } else if (subject.is_sequence()) {
    if (!subject.items().empty()) return subject.items().front();
  } else if (subject.is_dict()) {
    if (subject.truthy()) return subject.mapping().entries().front().first;
  } else if (subject.is_text()) {
    if (subject.truthy()) return item_of(subject, Value(std::int64_t{0}));
  } else {
    TRY_OK(iterate(context, subject));
  }
  return Value::undefined("no first item, sequence was empty");
}

Result<Value> last(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  if (subject.is_sequence() && !subject.is_iterator()) {
    if (!subject.items().empty()) return subject.items().back();
  } else if (subject.is_dict()) {
    if (subject.truthy()) return subject.mapping().entries().back().first;
  } else if (subject.is_text()) {
    TRY_OK(context.budget.steps(subject.weight()));
    if (subject.truthy()) return item_of(subject, Value(std::int64_t{-1}));
  } else if (!subject.is_undefined()) {
    return failure("'{}' object is not reversible", subject.type_name());
  }
  return Value::undefined("no last item, sequence was empty");
}

Result<Value> length(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  if (subject.is_sequence() && !subject.is_iterator()) return Value::number(subject.items().size());
  if (subject.is_dict()) return Value::number(subject.mapping().entries().size());
  if (subject.is_undefined()) return Value::number(0);
  if (!subject.is_text()) return failure("object of type '{}' has no len()", subject.type_name());
  TRY_OK(context.budget.steps(subject.weight()));
  return Value::number(count_characters(subject.str()));
}

Result<Value> join(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"d", "attribute"}));
  TRY(auto items, iterate(context, subject));
  if (const Value* attribute = given_argument(arguments, 1, "attribute")) {
    for (Value& item : items) {
      TRY(item, path_of(context, item, *attribute));
    }
  }
  const Value* separator = arguments.find(0, "d");
  if (separator == nullptr) return joined(context, items, {});
  TRY(const Prompt between, printed(context, *separator));
  return joined(context, items, between);
}

Result<Value> to_list(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  TRY(auto items, iterate(context, subject));
  return Value::list(std::move(items));
}

Result<Value> items(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  if (subject.is_undefined()) return Value::iterator({});
  if (!subject.is_dict()) return failure("can only get item pairs from a mapping");
  const auto& entries = subject.mapping().entries();
  TRY_OK(context.budget.steps(entries.size()));
  TRY_OK(context.budget.bytes(entries.size() * 128));
  std::vector<Value> pairs;
  for (const auto& [key, value] : entries) pairs.push_back(Value::tuple({key, value}));
  return Value::iterator(std::move(pairs));
}

Result<Value> reverse(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  TRY(auto items, iterate(context, subject));
  std::reverse(items.begin(), items.end());
  if (subject.is_text()) return joined(context, items, {});
  return subject.is_iterator() ? Value::list(std::move(items)) : Value::iterator(std::move(items));
}

Result<Value> sum(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"attribute", "start"}));
  TRY(const auto items, iterate(context, subject));
  const Value* attribute = given_argument(arguments, 0, "attribute");
  const Value* start = arguments.find(1, "start");
  Value total = start != nullptr ? *start : Value(std::int64_t{0});
  if (total.is_text()) return failure("sum() can't sum strings");
  for (const Value& item : items) {
    Value term = item;
    if (attribute != nullptr) {
      TRY(term, path_of(context, item, *attribute));
    }
    TRY(total, apply(context, BinaryOperator::add, std::move(total), std::move(term)));
  }
  return total;
}

// batch(linecount, fill_with=None)
Result<Value> batch(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"linecount", "fill_with"}));
  TRY(const auto items, iterate(context, subject));
  const Value* given = arguments.find(0, "linecount");
  if (given == nullptr || !given->is_integer()) return failure("batch() needs a number of items");
  const std::int64_t count = given->integer();
  const Value* fill = given_argument(arguments, 1, "fill_with");
  std::vector<Value> rows;
  std::vector<Value> row;
  for (const Value& item : items) {
    if (static_cast<std::int64_t>(row.size()) == count) rows.push_back(Value::list(std::exchange(row, {})));
    row.push_back(item);
  }
  if (!row.empty()) {
    const auto size = static_cast<std::int64_t>(row.size());
    if (fill != nullptr && size < count) {
      if (count > INT32_MAX) return failure("batch() got too large a number");
      TRY_OK(context.budget.bytes(static_cast<std::size_t>(count) * sizeof(Value)));
      row.resize(static_cast<std::size_t>(count), *fill);
    }
    rows.push_back(Value::list(std::move(row)));
  }
  return Value::iterator(std::move(rows));
}

// slice(slices, fill_with=None): makes that many lists, of sizes as equal as possible.
Result<Value> slices(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"slices", "fill_with"}));
  TRY(const auto items, iterate(context, subject));
  const Value* given = arguments.find(0, "slices");
  if (given == nullptr || !given->is_integer()) return failure("slice() needs a number of slices");
  if (given->integer() == 0) return failure("division by zero");
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(given->integer(), 0));
  TRY_OK(context.budget.steps(count));
  TRY_OK(context.budget.bytes(std::min<std::size_t>(count, INT32_MAX) * 64));
  const Value* fill = given_argument(arguments, 1, "fill_with");
  std::vector<Value> made;
  auto at = items.begin();
  for (std::size_t i = 0; i < count; ++i) {
    const bool longer = i < items.size() % count;
    const auto end = at + static_cast<std::ptrdiff_t>(items.size() / count + (longer ? 1 : 0));
    std::vector<Value> part(at, end);
    if (fill != nullptr && !longer) part.push_back(*fill);
    made.push_back(Value::list(std::move(part)));
    at = end;
  }
  return Value::iterator(std::move(made));
}

constexpr std::array<NamedOperation, 11> kListFilters = {{
    {"first", first},
    {"last", last},
    {"length", length},
    {"count", length},
    {"join", join},
    {"list", to_list},
    {"items", items},
    {"reverse", reverse},
    {"sum", sum},
    {"batch", batch},
    {"slice", slices},
}};

}  // namespace

std::span<const NamedOperation> list_filters() {
  return kListFilters;
}

}  // namespace kvasir::text::jinja

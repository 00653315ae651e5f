#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"
#include "text/jinja/operators.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

Result<Value> first(Context&, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  if (subject.is_dict()) {
    const auto& entries = subject.mapping().entries();
    return entries.empty() ? Value::undefined("no first item, sequence was empty") : entries.front().first;
  }
  if (!subject.is_list() && !subject.is_text())
    return failure("'{}' object is not iterable", subject.type_name());
  return item_of(subject, Value(std::int64_t{0}));
}

Result<Value> last(Context&, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  if (subject.is_dict()) {
    const auto& entries = subject.mapping().entries();
    return entries.empty() ? Value::undefined("no last item, sequence was empty") : entries.back().first;
  }
  if (!subject.is_list() && !subject.is_text())
    return failure("'{}' object is not reversible", subject.type_name());
  return item_of(subject, Value(std::int64_t{-1}));
}

Result<Value> length(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  if (subject.is_list()) return Value::number(subject.items().size());
  if (subject.is_dict()) return Value::number(subject.mapping().entries().size());
  if (subject.is_undefined()) return Value::number(0);
  if (!subject.is_text()) return failure("object of type '{}' has no len()", subject.type_name());
  TRY_OK(context.budget.steps(subject.weight()));
  return Value::number(count_characters(subject.str()));
}

Result<Value> join(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"d", "attribute"}));
  TRY(auto items, iterate(context, subject));
  if (const Value* attribute = arguments.find(1, "attribute");
      attribute != nullptr && !attribute->is_none()) {
    for (Value& item : items) item = path_of(item, *attribute);
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
  if (subject.is_undefined()) return Value::list({});
  if (!subject.is_dict()) return failure("can only get item pairs from a mapping");
  TRY_OK(context.budget.steps(subject.mapping().entries().size()));
  std::vector<Value> pairs;
  for (const auto& [key, value] : subject.mapping().entries()) pairs.push_back(Value::tuple({key, value}));
  return Value::list(std::move(pairs));
}

Result<Value> reverse(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({}));
  TRY(auto items, iterate(context, subject));
  std::reverse(items.begin(), items.end());
  if (subject.is_text()) return joined(context, items, {});
  return Value::list(std::move(items));
}

// What sort, unique, min, max and groupby compare by.
Value comparison_key(const Value& item, const Arguments& arguments) {
  Value key = item;
  for (const auto& [name, value] : arguments.named) {
    if (name == "attribute" && !value.is_none()) key = path_of(item, value);
  }
  bool case_sensitive = false;
  for (const auto& [name, value] : arguments.named) {
    if (name == "case_sensitive") case_sensitive = value.truthy();
  }
  return key.is_text() && !case_sensitive ? Value::literal(lower(key.str())) : key;
}

struct Keyed {
  Value key;
  Value item;
};

// Only numbers, or only strings: those have a total order.
Result<std::vector<Keyed>> keyed(Context& context, const std::vector<Value>& items,
                                 const Arguments& arguments) {
  std::vector<Keyed> all;
  all.reserve(items.size());
  for (const Value& item : items) {
    Value key = comparison_key(item, arguments);
    TRY_OK(context.budget.steps(8 + key.weight() * 8));
    const bool ordered = key.is_text() || (key.is_number() && !std::isnan(key.real()));
    const bool alike = all.empty() || all.front().key.is_text() == key.is_text();
    if (!ordered || !alike) {
      return failure("'<' not supported between instances of '{}' and '{}'", key.type_name(),
                     all.empty() ? key.type_name() : all.front().key.type_name());
    }
    all.push_back({std::move(key), item});
  }
  return all;
}

bool before(const Keyed& a, const Keyed& b) {
  return less(a.key, b.key).value();
}

bool flag(const Arguments& arguments, std::size_t position, std::string_view name) {
  const Value* value = arguments.find(position, name);
  return value != nullptr && value->truthy();
}

std::vector<Value> items_of(std::vector<Keyed> all) {
  std::vector<Value> items;
  items.reserve(all.size());
  for (Keyed& entry : all) items.push_back(std::move(entry.item));
  return items;
}

// Names for the arguments that were given by position.
Arguments with_names(const Arguments& arguments, std::initializer_list<std::string_view> names) {
  Arguments named{.positional = {}, .named = arguments.named};
  for (std::size_t i = 0; i < arguments.positional.size() && i < names.size(); ++i) {
    named.named.emplace_back(*(names.begin() + i), arguments.positional[i]);
  }
  return named;
}

Result<Value> sort(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"reverse", "case_sensitive", "attribute"}));
  TRY(const auto items, iterate(context, subject));
  TRY(auto all, keyed(context, items, with_names(arguments, {"reverse", "case_sensitive", "attribute"})));
  if (flag(arguments, 0, "reverse")) {
    std::stable_sort(all.begin(), all.end(), [](const Keyed& a, const Keyed& b) { return before(b, a); });
  } else {
    std::stable_sort(all.begin(), all.end(), before);
  }
  return Value::list(items_of(std::move(all)));
}

Result<Value> dict_sort(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"case_sensitive", "by", "reverse"}));
  TRY(const Value pairs, items(context, subject, {}));
  TRY(const std::string by, text_argument(arguments.find(1, "by"), "key"));
  if (by != "key" && by != "value") return failure("dictsort() sorts by 'key' or 'value'");
  Arguments keys;
  keys.named.emplace_back("attribute", Value(std::int64_t{by == "key" ? 0 : 1}));
  keys.named.emplace_back("case_sensitive", Value(flag(arguments, 0, "case_sensitive")));
  TRY(auto all, keyed(context, pairs.items(), keys));
  std::stable_sort(all.begin(), all.end(), before);
  if (flag(arguments, 2, "reverse")) std::reverse(all.begin(), all.end());
  return Value::list(items_of(std::move(all)));
}

Result<Value> unique(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"case_sensitive", "attribute"}));
  TRY(const auto items, iterate(context, subject));
  const Arguments named = with_names(arguments, {"case_sensitive", "attribute"});
  Dict seen;
  std::vector<Value> kept;
  for (const Value& item : items) {
    Value key = comparison_key(item, named);
    if (!hashable(key)) return failure("unhashable type: '{}'", key.type_name());
    if (seen.find(key) != nullptr) continue;
    seen.set(std::move(key), Value(true));
    kept.push_back(item);
  }
  return Value::list(std::move(kept));
}

enum class Extreme { smallest, largest };

Result<Value> extreme(Context& context, const Value& subject, const Arguments& arguments, Extreme wanted) {
  TRY_OK(arguments.only({"case_sensitive", "attribute"}));
  TRY(const auto items, iterate(context, subject));
  TRY(const auto all, keyed(context, items, with_names(arguments, {"case_sensitive", "attribute"})));
  if (all.empty()) return Value::undefined("no aggregated item, sequence was empty");
  const auto found = wanted == Extreme::largest ? std::max_element(all.begin(), all.end(), before)
                                                : std::min_element(all.begin(), all.end(), before);
  return found->item;
}

Result<Value> min(Context& context, const Value& subject, const Arguments& arguments) {
  return extreme(context, subject, arguments, Extreme::smallest);
}

Result<Value> max(Context& context, const Value& subject, const Arguments& arguments) {
  return extreme(context, subject, arguments, Extreme::largest);
}

Result<Value> sum(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"attribute", "start"}));
  TRY(const auto items, iterate(context, subject));
  const Value* attribute = arguments.find(0, "attribute");
  const Value* start = arguments.find(1, "start");
  Value total = start != nullptr ? *start : Value(std::int64_t{0});
  for (const Value& item : items) {
    const bool by_path = attribute != nullptr && !attribute->is_none();
    TRY(total, apply(context, BinaryOperator::add, total, by_path ? path_of(item, *attribute) : item));
  }
  return total;
}

// batch(linecount, fill_with=None)
Result<Value> batch(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"linecount", "fill_with"}));
  TRY(const auto items, iterate(context, subject));
  TRY(const std::int64_t count, integer_argument(arguments.find(0, "linecount"), 0));
  if (count <= 0) return failure("batch() needs a positive count");
  const Value* fill = arguments.find(1, "fill_with");
  std::vector<Value> rows;
  std::vector<Value> row;
  for (const Value& item : items) {
    row.push_back(item);
    if (static_cast<std::int64_t>(row.size()) == count) rows.push_back(Value::list(std::exchange(row, {})));
  }
  if (!row.empty()) {
    if (fill != nullptr && !fill->is_none()) {
      TRY_OK(context.budget.bytes(static_cast<std::size_t>(count) * sizeof(Value)));
      row.resize(static_cast<std::size_t>(count), *fill);
    }
    rows.push_back(Value::list(std::move(row)));
  }
  return Value::list(std::move(rows));
}

Result<Value> group_by(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"attribute", "default", "case_sensitive"}));
  TRY(const auto items, iterate(context, subject));
  TRY(auto all, keyed(context, items, with_names(arguments, {"attribute", "default", "case_sensitive"})));
  std::stable_sort(all.begin(), all.end(), before);
  const Value* attribute = arguments.find(0, "attribute");
  std::vector<Value> groups;
  for (std::size_t i = 0; i < all.size();) {
    std::vector<Value> group;
    std::size_t end = i;
    for (; end < all.size() && equal(all[i].key, all[end].key); ++end) group.push_back(all[end].item);
    Value name = attribute != nullptr ? path_of(all[i].item, *attribute) : all[i].key;
    groups.push_back(Value::tuple({std::move(name), Value::list(std::move(group))}));
    i = end;
  }
  return Value::list(std::move(groups));
}

constexpr std::array<NamedOperation, 16> kFilters = {{
    {"first", first},
    {"last", last},
    {"length", length},
    {"count", length},
    {"join", join},
    {"list", to_list},
    {"items", items},
    {"reverse", reverse},
    {"sort", sort},
    {"dictsort", dict_sort},
    {"unique", unique},
    {"min", min},
    {"max", max},
    {"sum", sum},
    {"batch", batch},
    {"groupby", group_by},
}};

}  // namespace

std::span<const NamedOperation> list_filters() {
  return kFilters;
}

}  // namespace kvasir::text::jinja

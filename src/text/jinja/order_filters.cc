#include <algorithm>
#include <array>
#include <utility>

#include "text/jinja/builtins.h"
#include "text/jinja/characters.h"
#include "text/jinja/operators.h"

namespace kvasir::text::jinja {

using base::Result;
using base::Status;

namespace {

// The filters below sort or compare items.

struct Keyed {
  Value key;
  Value item;
};

enum class Case { matters, ignored };

// The sort key of an item: the value at a path, with strings in lower case unless case matters.
struct KeyRule {
  const Value* path = nullptr;  // null: the item itself
  Case letters = Case::ignored;
  const Value* fallback = nullptr;
};

Result<Value> key_of(Context& context, const Value& item, const KeyRule& rule) {
  Value key = item;
  if (rule.path != nullptr) {
    TRY(key, path_of(context, item, *rule.path, rule.fallback));
  }
  if (!key.is_text() || rule.letters == Case::matters) return key;
  TRY_OK(context.budget.bytes(key.str().size()));
  return Value::literal(lower(key.str()));
}

Result<std::vector<Keyed>> keyed(Context& context, const std::vector<Value>& items, const KeyRule& rule) {
  std::vector<Keyed> all;
  all.reserve(items.size());
  for (const Value& item : items) {
    TRY(Value key, key_of(context, item, rule));
    all.push_back({std::move(key), item});
  }
  return all;
}

Result<bool> before(Context& context, const Value& a, const Value& b) {
  TRY_OK(context.budget.steps(std::min(a.weight(), b.weight())));
  return less(a, b);
}

enum class Direction { up, down };

// A stable merge sort is used, since a comparison may fail and may not be a consistent order.
Status sort_keyed(Context& context, std::vector<Keyed>& all, Direction direction) {
  std::vector<Keyed> merged(all.size());
  for (std::size_t width = 1; width < all.size(); width *= 2) {
    for (std::size_t begin = 0; begin < all.size(); begin += 2 * width) {
      const std::size_t middle = std::min(begin + width, all.size());
      const std::size_t end = std::min(begin + 2 * width, all.size());
      std::size_t left = begin;
      std::size_t right = middle;
      for (std::size_t out = begin; out < end; ++out) {
        bool take_right = left == middle;
        if (left < middle && right < end) {
          const Value& a = all[left].key;
          const Value& b = all[right].key;
          TRY(take_right, direction == Direction::up ? before(context, b, a) : before(context, a, b));
        }
        merged[out] = std::move(take_right ? all[right++] : all[left++]);
      }
    }
    all.swap(merged);
  }
  return base::ok();
}

std::vector<Value> items_of(std::vector<Keyed> all) {
  std::vector<Value> items;
  items.reserve(all.size());
  for (Keyed& entry : all) items.push_back(std::move(entry.item));
  return items;
}

Case case_of(const Arguments& arguments, std::size_t position) {
  return flag_argument(arguments, position, "case_sensitive") ? Case::matters : Case::ignored;
}

// Makes keys by several paths, which are written "a,b" and compared one after another.
Result<std::vector<Keyed>> keyed_by_several(Context& context, const std::vector<Value>& items,
                                            const Value& paths, Case letters) {
  std::vector<Value> each;
  std::string_view rest = paths.str();
  while (true) {
    const std::size_t comma = rest.find(',');
    each.push_back(Value::literal(rest.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  std::vector<Keyed> all;
  for (const Value& item : items) {
    std::vector<Value> keys;
    for (const Value& path : each) {
      TRY(keys.emplace_back(), key_of(context, item, {.path = &path, .letters = letters}));
    }
    all.push_back({Value::list(std::move(keys)), item});
  }
  return all;
}

Result<Value> sort(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"reverse", "case_sensitive", "attribute"}));
  TRY(const auto items, iterate(context, subject));
  const Value* paths = given_argument(arguments, 2, "attribute");
  const Case letters = case_of(arguments, 1);
  TRY(auto all, paths != nullptr && paths->is_text()
                    ? keyed_by_several(context, items, *paths, letters)
                    : keyed(context, items, {.path = paths, .letters = letters}));
  TRY_OK(sort_keyed(context, all, flag_argument(arguments, 0, "reverse") ? Direction::down : Direction::up));
  return Value::list(items_of(std::move(all)));
}

Result<Value> dict_sort(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"case_sensitive", "by", "reverse"}));
  if (!subject.is_dict()) return failure("dictsort() needs a mapping, not '{}'", subject.type_name());
  TRY(const std::string by, text_argument(arguments.find(1, "by"), "key"));
  if (by != "key" && by != "value") return failure("dictsort() sorts by 'key' or 'value'");
  const auto& entries = subject.mapping().entries();
  TRY_OK(context.budget.steps(entries.size()));
  TRY_OK(context.budget.bytes(entries.size() * 128));
  std::vector<Value> pairs;
  for (const auto& [key, value] : entries) pairs.push_back(Value::tuple({key, value}));
  const Value place(std::int64_t{by == "key" ? 0 : 1});
  TRY(auto all, keyed(context, pairs, {.path = &place, .letters = case_of(arguments, 0)}));
  TRY_OK(sort_keyed(context, all, flag_argument(arguments, 2, "reverse") ? Direction::down : Direction::up));
  return Value::list(items_of(std::move(all)));
}

Result<Value> unique(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"case_sensitive", "attribute"}));
  TRY(const auto items, iterate(context, subject));
  TRY(auto all, keyed(context, items,
                      {.path = given_argument(arguments, 1, "attribute"), .letters = case_of(arguments, 0)}));
  Dict seen;
  std::vector<Value> kept;
  for (Keyed& entry : all) {
    if (!hashable(entry.key)) return failure("unhashable type: '{}'", entry.key.type_name());
    TRY_OK(context.budget.steps(entry.key.weight()));
    if (seen.find(entry.key) != nullptr) continue;
    TRY_OK(context.budget.bytes(128));
    seen.set(std::move(entry.key), Value(true));
    kept.push_back(std::move(entry.item));
  }
  return Value::iterator(std::move(kept));
}

Result<Value> extreme(Context& context, const Value& subject, const Arguments& arguments,
                      Direction direction) {
  TRY_OK(arguments.only({"case_sensitive", "attribute"}));
  TRY(const auto items, iterate(context, subject));
  TRY(const auto all,
      keyed(context, items,
            {.path = given_argument(arguments, 1, "attribute"), .letters = case_of(arguments, 0)}));
  if (all.empty()) return Value::undefined("no aggregated item, sequence was empty");
  std::size_t best = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    TRY(const bool better, direction == Direction::up ? before(context, all[best].key, all[i].key)
                                                      : before(context, all[i].key, all[best].key));
    if (better) best = i;
  }
  return all[best].item;
}

Result<Value> min(Context& context, const Value& subject, const Arguments& arguments) {
  return extreme(context, subject, arguments, Direction::down);
}

Result<Value> max(Context& context, const Value& subject, const Arguments& arguments) {
  return extreme(context, subject, arguments, Direction::up);
}

Result<Value> group_by(Context& context, const Value& subject, const Arguments& arguments) {
  TRY_OK(arguments.only({"attribute", "default", "case_sensitive"}));
  const Value* path = arguments.find(0, "attribute");
  if (path == nullptr) return failure("groupby() needs an attribute");
  TRY(const auto items, iterate(context, subject));
  KeyRule rule{
      .path = path, .letters = case_of(arguments, 2), .fallback = given_argument(arguments, 1, "default")};
  TRY(auto all, keyed(context, items, rule));
  TRY_OK(sort_keyed(context, all, Direction::up));
  rule.letters = Case::matters;
  std::vector<Value> groups;
  for (std::size_t i = 0; i < all.size();) {
    std::vector<Value> group;
    std::size_t end = i;
    for (; end < all.size(); ++end) {
      TRY(const bool same, compare(context, Comparator::equal, all[i].key, all[end].key));
      if (!same && end > i) break;
      group.push_back(all[end].item);
    }
    TRY(Value name, key_of(context, all[i].item, rule));
    groups.push_back(
        Value::sequence(Sequence::Kind::group, {std::move(name), Value::list(std::move(group))}));
    i = end;
  }
  return Value::list(std::move(groups));
}

constexpr std::array<NamedOperation, 6> kOrderFilters = {{
    {"sort", sort},
    {"dictsort", dict_sort},
    {"unique", unique},
    {"min", min},
    {"max", max},
    {"groupby", group_by},
}};

}  // namespace

std::span<const NamedOperation> order_filters() {
  return kOrderFilters;
}

}  // namespace kvasir::text::jinja

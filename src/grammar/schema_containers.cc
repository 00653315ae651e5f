#include <algorithm>
#include <bit>
#include <string>

#include "grammar/char_encoding.h"
#include "grammar/schema_compiler.h"

// Arrays and objects.
namespace kvasir::grammar {
namespace {

namespace json = base::json;

// Arrays of different items need 2^n rules for n values.
constexpr std::size_t kMaxDifferent = 7;

constexpr std::uint32_t at_least(std::uint32_t wanted, std::uint32_t have) {
  return wanted > have ? wanted - have : 0;
}
constexpr std::uint32_t at_most(std::uint32_t limit, std::uint32_t have) {
  return limit == kUnbounded ? kUnbounded : at_least(limit, have);
}

}  // namespace

// The items after the prefix; absent if there may be none.
base::Result<std::optional<NodeId>> SchemaCompiler::emit_items(const SchemaSpec& spec) {
  if (spec.items.empty()) return std::optional(any_value());
  TRY(const auto alternatives, document_.expand(spec.items));
  if (alternatives.empty()) return std::optional<NodeId>();
  TRY(const NodeId item, value(spec.items));
  return std::optional(item);
}

base::Result<std::optional<std::vector<json::value>>> SchemaCompiler::item_values(
    const SchemaSpec& spec) const {
  if (!spec.prefix.empty() || spec.items.empty()) return std::optional<std::vector<json::value>>();
  TRY(const auto alternatives, document_.expand(spec.items));
  std::vector<json::value> all;
  for (const Alternative& alternative : alternatives) {
    TRY(const SchemaSpec item, make_spec(alternative));
    if (!item.values) return std::optional<std::vector<json::value>>();
    TRY(const auto values, allowed_values(item));
    for (const json::value& value : values) {
      const auto same = [&](const json::value& known) { return same_json(known, value); };
      if (std::ranges::none_of(all, same)) all.push_back(value);
    }
  }
  return std::optional(std::move(all));
}

// One rule for each set of values that have been written.
NodeId SchemaCompiler::emit_different(const SchemaSpec& spec, const std::vector<json::value>& values) {
  const std::size_t num_sets = std::size_t{1} << values.size();
  std::vector<RuleId> rules;
  std::vector<RuleId> items;
  for (std::size_t set = 0; set < num_sets; ++set) rules.push_back(g_.add_rule("different items"));
  for (const json::value& value : values) {
    items.push_back(g_.add_rule("item"));
    g_.define(items.back(), emit_value(value));
  }
  const NodeId close = g_.sequence({space(), g_.literal("]")});
  const NodeId comma = g_.sequence({g_.literal(","), space()});
  for (std::size_t set = 0; set < num_sets; ++set) {
    const auto have = static_cast<std::uint32_t>(std::popcount(set));
    std::vector<NodeId> ways;
    if (have >= spec.min_items) ways.push_back(have == 0 ? g_.literal("]") : close);
    for (std::size_t i = 0; i < values.size() && have < spec.max_items; ++i) {
      const std::size_t bit = std::size_t{1} << i;
      if ((set & bit) != 0) continue;
      const NodeId item = g_.sequence({g_.reference(items[i]), g_.reference(rules[set | bit])});
      ways.push_back(have == 0 ? item : g_.sequence({comma, item}));
    }
    g_.define(rules[set], g_.choice(std::move(ways)));
  }
  return g_.sequence({g_.literal("["), space(), g_.reference(rules[0])});
}

// Built from the end: `tail` is what may follow after i items, for every i in the prefix.
base::Result<NodeId> SchemaCompiler::emit_array(const SchemaSpec& spec) {
  std::uint32_t max_items = spec.max_items;
  if (spec.unique_path && max_items > 1) {
    TRY(const auto values, item_values(spec));
    if (values && values->size() <= kMaxDifferent) return emit_different(spec, *values);
    if (values && values->size() < max_items) max_items = static_cast<std::uint32_t>(values->size());
    notes_.add("'uniqueItems' is not enforced", *spec.unique_path);
  }
  if (spec.min_items > max_items) return g_.never();
  const auto num_prefix = static_cast<std::uint32_t>(std::min<std::size_t>(spec.prefix.size(), max_items));
  TRY(const auto item, emit_items(spec));
  const NodeId close = g_.sequence({space(), g_.literal("]")});
  const NodeId comma = g_.sequence({g_.literal(","), space()});
  // The text after `have` items, the last of which has been written.
  const auto after_prefix = [&](std::uint32_t have) {
    if (!item) return spec.min_items <= have ? close : g_.never();
    const NodeId one = g_.sequence({comma, *item});
    return g_.sequence({g_.repeat(one, at_least(spec.min_items, have), at_most(max_items, have)), close});
  };
  std::vector<NodeId> prefix;
  for (std::uint32_t i = 0; i < num_prefix; ++i) {
    if (spec.prefix[i].empty()) {
      prefix.push_back(any_value());
    } else {
      TRY(const NodeId one, value(spec.prefix[i]));
      prefix.push_back(one);
    }
  }
  NodeId tail = after_prefix(std::max<std::uint32_t>(num_prefix, 1));
  if (num_prefix == max_items && num_prefix > 0) tail = close;
  for (std::uint32_t i = num_prefix; i-- > 1;) {
    const NodeId more = g_.sequence({comma, prefix[i], tail});
    const RuleId rule = g_.add_rule("tuple");
    g_.define(rule, spec.min_items <= i ? g_.choice({close, more}) : more);
    tail = g_.reference(rule);
  }
  std::vector<NodeId> ways;
  if (spec.min_items == 0) ways.push_back(g_.literal("]"));
  if (num_prefix > 0) {
    ways.push_back(g_.sequence({prefix[0], tail}));
  } else if (item && max_items > 0) {
    ways.push_back(g_.sequence({*item, tail}));
  }
  return g_.sequence({g_.literal("["), space(), g_.choice(std::move(ways))});
}

base::Result<NodeId> SchemaCompiler::emit_key(const SchemaSpec& spec, const SchemaSpec::KeyClass& keys) {
  StringDemands demands{.min_length = spec.min_name_length, .max_length = spec.max_name_length};
  for (const auto& regex : keys.match) demands.match.push_back(regex.get());
  for (const auto& regex : keys.not_match) demands.not_match.push_back(regex.get());
  for (const auto& property : spec.properties) demands.not_equal.push_back(property.name);
  const bool is_free = demands.match.empty() && demands.not_match.empty() && demands.not_equal.empty() &&
                       demands.min_length == 0 && demands.max_length == kUnbounded;
  if (is_free) return any_string();
  const bool one_pattern = demands.match.size() == 1 && demands.not_match.empty() &&
                           demands.not_equal.empty() && spec.min_name_length == 0 &&
                           spec.max_name_length == kUnbounded;
  if (one_pattern) return emit_pattern(*demands.match[0]);
  auto dfa = CharDfa::make(demands);
  if (!dfa.ok()) {
    return schema_error(dfa.error().code, spec.path, "too many names or patterns of undeclared properties");
  }
  return dfa->emit(g_, CharEncoding::json);
}

base::Result<std::optional<NodeId>> SchemaCompiler::emit_undeclared(const SchemaSpec& spec) {
  std::vector<NodeId> ways;
  for (const SchemaSpec::KeyClass& keys : spec.keys) {
    NodeId schema = 0;
    if (keys.schema.empty()) {
      schema = any_value();
    } else {
      TRY(const auto alternatives, document_.expand(keys.schema));
      if (alternatives.empty()) continue;
      TRY(schema, value(keys.schema));
    }
    TRY(const NodeId key, emit_key(spec, keys));
    ways.push_back(g_.sequence({key, g_.literal(":"), space(), schema}));
  }
  if (ways.empty()) return std::optional<NodeId>();
  return std::optional(g_.choice(std::move(ways)));
}

// The grammar of an object's members, built from the end. For every number of members so far, `next` follows
// a comma (or the brace) and `tail` follows a member. Numbers are distinguished only if there are bounds on
// them.
struct SchemaCompiler::Members {
  std::uint32_t min = 0;
  std::uint32_t max = kUnbounded;
  std::uint32_t num_counts = 1;
  NodeId close = 0;
  NodeId comma = 0;
  bool rest_optional = true;  // whether all declared properties added so far are optional
  std::vector<NodeId> next;
  std::vector<NodeId> tail;
};

base::Result<NodeId> SchemaCompiler::emit_object(const SchemaSpec& spec) {
  const auto n = static_cast<std::uint32_t>(spec.properties.size());
  TRY(const auto undeclared, emit_undeclared(spec));
  const auto num_required = static_cast<std::uint32_t>(
      std::ranges::count_if(spec.properties, [](const auto& property) { return property.required; }));
  // Undeclared keys may repeat, and a repeated key is one property, so only one of them counts.
  if (spec.min_properties > n + (undeclared ? 1 : 0)) {
    if (!undeclared) return g_.never();
    return unsupported_keyword(spec.min_properties_path, "undeclared keys cannot be kept from repeating");
  }
  Members members;
  const bool may_exceed = spec.max_properties != kUnbounded && (undeclared || spec.max_properties < n);
  if (spec.min_properties > num_required || may_exceed) {
    members.min = spec.min_properties;
    members.max = spec.max_properties;
    members.num_counts = n + 1;
  }
  members.close = g_.sequence({space(), g_.literal("}")});
  members.comma = g_.sequence({g_.literal(","), space()});
  start_members(undeclared, members);
  for (std::uint32_t i = n; i-- > 0 && !g_.full();) TRY_OK(add_property(spec.properties[i], members));
  std::vector<NodeId> ways{members.next[0]};
  if (num_required == 0 && members.min == 0) ways.push_back(g_.literal("}"));
  return g_.sequence({g_.literal("{"), space(), g_.choice(std::move(ways))});
}

// Starts `members` with the state after all declared properties.
void SchemaCompiler::start_members(std::optional<NodeId> undeclared, Members& members) {
  for (std::uint32_t c = 0; c < members.num_counts; ++c) {
    NodeId next = g_.never();
    NodeId tail = c >= members.min ? members.close : g_.never();
    if (undeclared && c < members.max) {
      const NodeId one = g_.sequence({members.comma, *undeclared});
      const NodeId more = g_.repeat(one, 0, at_most(members.max, c + 1));
      if (c + 1 >= members.min) next = g_.sequence({*undeclared, more, members.close});
      tail = g_.choice({tail, g_.sequence({members.comma, next})});
    }
    members.next.push_back(next);
    members.tail.push_back(tail);
  }
}

// Adds a property before those that `members` already has.
base::Status SchemaCompiler::add_property(const SchemaSpec::Property& property, Members& members) {
  NodeId member = 0;
  if (property.schema.empty()) {
    member = any_value();
  } else {
    TRY(member, value(property.schema));
  }
  const NodeId key = g_.literal(json_quoted(property.name) + ":");
  if (property.required) members.rest_optional = false;
  std::vector<NodeId> next(members.num_counts);
  std::vector<NodeId> tail(members.num_counts);
  for (std::uint32_t c = 0; c < members.num_counts; ++c) {
    const std::uint32_t after = members.num_counts == 1 ? 0 : c + 1;
    std::vector<NodeId> ways;
    if (after < members.num_counts && c < members.max) {
      ways.push_back(g_.sequence({key, space(), member, members.tail[after]}));
    }
    if (!property.required) ways.push_back(members.next[c]);
    // A rule, since it is used twice: after a comma, and after an optional property that was left out.
    const RuleId rule = g_.add_rule("members");
    g_.define(rule, g_.choice(std::move(ways)));
    next[c] = g_.reference(rule);
    std::vector<NodeId> ends{g_.sequence({members.comma, next[c]})};
    if (members.rest_optional && c >= members.min) ends.push_back(members.close);
    tail[c] = g_.choice(std::move(ends));
  }
  members.next = std::move(next);
  members.tail = std::move(tail);
  return base::ok();
}

}  // namespace kvasir::grammar

#include "grammar/schema_negation.h"

#include <algorithm>
#include <array>

#include "grammar/schema_spec.h"

namespace kvasir::grammar {
namespace {

namespace json = base::json;

constexpr int kMaxNegationDepth = 5;
constexpr std::size_t kMaxWays = 24;
constexpr int kMaxNegated = 20'000;

constexpr std::array<std::pair<unsigned, const char*>, 7> kTypeNames{{{kNull, "null"},
                                                                      {kBoolean, "boolean"},
                                                                      {kNumber, "number"},
                                                                      {kInteger, "integer"},
                                                                      {kString, "string"},
                                                                      {kArray, "array"},
                                                                      {kObject, "object"}}};

unsigned types_of(const json::value& type) {
  if (const auto* names = type.if_array()) {
    unsigned types = 0;
    for (const json::value& name : *names) types |= types_of(name);
    return types;
  }
  for (const auto& [bits, name] : kTypeNames) {
    if (type == name) return bits;
  }
  return kAllTypes;  // an unknown type: no value is taken to be outside of it
}

// Fractions without integers have no type name, so they are left out.
json::array names_of(unsigned types) {
  json::array names;
  for (const auto& [bits, name] : kTypeNames) {
    const bool covered = bits == kInteger && (types & kFraction) != 0;
    if ((types & bits) == bits && !covered) names.emplace_back(name);
  }
  return names;
}

json::object of_types(unsigned types) {
  return {{"type", names_of(types)}};
}

// The opposite of a bound: the other keyword, and how far its value is from this one's.
struct Bound {
  const char* keyword;
  const char* opposite;
  const char* type;
  int step;
};
constexpr std::array<Bound, 10> kBounds{{{"minimum", "exclusiveMaximum", "number", 0},
                                         {"maximum", "exclusiveMinimum", "number", 0},
                                         {"exclusiveMinimum", "maximum", "number", 0},
                                         {"exclusiveMaximum", "minimum", "number", 0},
                                         {"minLength", "maxLength", "string", -1},
                                         {"maxLength", "minLength", "string", 1},
                                         {"minItems", "maxItems", "array", -1},
                                         {"maxItems", "minItems", "array", 1},
                                         {"minProperties", "maxProperties", "object", -1},
                                         {"maxProperties", "minProperties", "object", 1}}};

void add_bounds(const json::object& schema, json::array& ways) {
  for (const Bound& bound : kBounds) {
    const json::value* value = schema.if_contains(bound.keyword);
    if (value == nullptr || !value->is_number()) continue;
    if (bound.step == 0) {
      ways.push_back(json::object{{"type", bound.type}, {bound.opposite, *value}});
      continue;
    }
    const auto count = value->to_number<double>();
    if (count + bound.step >= 0 && count < 1e9) {
      ways.push_back(json::object{{"type", bound.type},
                                  {bound.opposite, static_cast<std::int64_t>(count) + bound.step}});
    }
  }
}

json::value any_of(json::array ways) {
  if (ways.empty()) return false;
  if (ways.size() == 1) return ways[0];
  if (ways.size() > kMaxWays) ways.resize(kMaxWays);
  return json::object{{"anyOf", std::move(ways)}};
}

// Adds values that are not in the list: those of types that the list does not have, and all other strings and
// booleans.
void add_values(const json::array& values, json::array& ways) {
  unsigned types = 0;
  json::array strings;
  json::array booleans{true, false};
  for (const json::value& value : values) {
    types |= type_of(value);
    if (value.is_string()) strings.push_back(value);
    if (value.is_bool()) booleans.erase(std::ranges::remove(booleans, value).begin(), booleans.end());
  }
  if ((types & kNumber) != 0) types |= kNumber;
  if (const unsigned others = kAllTypes & ~types; others != 0) ways.push_back(of_types(others));
  if (!strings.empty()) ways.push_back(json::object{{"type", "string"}, {kNotStrings, strings}});
  if ((types & kBoolean) != 0 && !booleans.empty()) ways.push_back(json::object{{"enum", booleans}});
}

bool is_nothing(const json::value& schema) {
  return schema == false;
}

}  // namespace

const json::value& SchemaNegation::of(const json::value& schema) {
  auto& made = made_[&schema];
  if (!made) made = std::make_unique<json::value>(negate(schema, 0));
  return *made;
}

const json::value& SchemaNegation::of_condition(const json::object& schema) {
  auto& made = made_[&schema.at("if")];
  if (made) return *made;
  const auto branch = [&](const json::value& condition, const char* keyword) {
    json::array all{condition};
    if (const json::value* then = schema.if_contains(keyword)) all.push_back(*then);
    return json::object{{"allOf", std::move(all)}};
  };
  json::array ways{branch(schema.at("if"), "then")};
  if (json::value otherwise = negate(schema.at("if"), 0); !is_nothing(otherwise)) {
    ways.push_back(branch(otherwise, "else"));
  }
  made = std::make_unique<json::value>(json::object{{"anyOf", std::move(ways)}});
  return *made;
}

const json::value& SchemaNegation::of_dependencies(const json::object& dependencies) {
  auto& made = made_[&dependencies];
  if (made) return *made;
  json::array all;
  for (const auto& member : dependencies) {
    json::array required{member.key()};
    json::object present{};
    if (const auto* names = member.value().if_array()) {
      required.insert(required.end(), names->begin(), names->end());
    } else if (member.value().is_string()) {  // draft 3
      required.push_back(member.value());
    } else {
      present["allOf"] = json::array{member.value()};
    }
    present["required"] = std::move(required);
    json::object absent{{"properties", json::object{{member.key(), false}}}};
    all.push_back(json::object{{"anyOf", json::array{std::move(absent), std::move(present)}}});
  }
  made = std::make_unique<json::value>(json::object{{"allOf", std::move(all)}});
  return *made;
}

json::value SchemaNegation::negate(const json::value& schema, int depth) {
  if (const bool* valid = schema.if_bool()) return !*valid;
  const json::object* object = schema.if_object();
  if (object == nullptr || depth > kMaxNegationDepth || ++num_negated_ > kMaxNegated) return false;
  return any_of(ways_out(*object, depth));
}

// Each way breaks one keyword.
json::array SchemaNegation::ways_out(const json::object& schema, int depth) {
  json::array ways;
  if (const json::value* reference = schema.if_contains("$ref")) {  // older drafts ignore other keywords
    if (const auto target = document_.resolve(*reference, "#"); target.ok()) {
      json::value other = negate(*target->value, depth + 1);
      if (!is_nothing(other)) ways.push_back(std::move(other));
    }
    return ways;
  }
  if (const json::value* type = schema.if_contains("type")) {
    const json::value* nullable = schema.if_contains("nullable");
    unsigned types = types_of(*type);
    if (nullable != nullptr && *nullable == true) types |= kNull;
    if (const unsigned others = kAllTypes & ~types; others != 0 && !names_of(others).empty()) {
      ways.push_back(of_types(others));
    }
  }
  if (const json::value* constant = schema.if_contains("const")) add_values({*constant}, ways);
  if (const json::value* values = schema.if_contains("enum"); values != nullptr && values->is_array()) {
    add_values(values->get_array(), ways);
  }
  if (const json::value* pattern = schema.if_contains("pattern");
      pattern != nullptr && pattern->is_string()) {
    ways.push_back(json::object{{"type", "string"}, {kNotPatterns, json::array{*pattern}}});
  }
  add_bounds(schema, ways);
  add_members(schema, depth, ways);
  add_combinations(schema, depth, ways);
  return ways;
}

void SchemaNegation::add_members(const json::object& schema, int depth, json::array& ways) {
  if (const json::value* required = schema.if_contains("required");
      required != nullptr && required->is_array()) {
    for (const json::value& name : required->get_array()) {
      if (!name.is_string()) continue;
      ways.push_back(
          json::object{{"type", "object"}, {"properties", json::object{{name.get_string(), false}}}});
    }
  }
  const json::value* properties = schema.if_contains("properties");
  if (properties == nullptr || !properties->is_object()) return;
  for (const auto& member : properties->get_object()) {
    json::value other = negate(member.value(), depth + 1);
    if (is_nothing(other)) continue;
    ways.push_back(json::object{{"type", "object"},
                                {"required", json::array{member.key()}},
                                {"properties", json::object{{member.key(), std::move(other)}}}});
  }
}

void SchemaNegation::add_combinations(const json::object& schema, int depth, json::array& ways) {
  if (const json::value* negated = schema.if_contains("not")) ways.push_back(*negated);
  if (const json::value* all = schema.if_contains("allOf"); all != nullptr && all->is_array()) {
    for (const json::value& one : all->get_array()) {
      json::value other = negate(one, depth + 1);
      if (!is_nothing(other)) ways.push_back(std::move(other));
    }
  }
  for (const char* keyword : {"anyOf", "oneOf"}) {
    const json::value* any = schema.if_contains(keyword);
    if (any == nullptr || !any->is_array()) continue;
    json::array none;
    for (const json::value& one : any->get_array()) none.push_back(negate(one, depth + 1));
    if (std::ranges::none_of(none, is_nothing)) ways.push_back(json::object{{"allOf", std::move(none)}});
  }
}

}  // namespace kvasir::grammar

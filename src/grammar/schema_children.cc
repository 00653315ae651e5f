#include <algorithm>
#include <array>
#include <set>

#include "grammar/regex_lookahead.h"
#include "grammar/schema_merge.h"
#include "grammar/string_formats.h"

// Reads what schemas say about the children of arrays and objects.
namespace kvasir::grammar {
namespace {

namespace json = base::json;

constexpr std::size_t kMaxKeyPatterns = 5;

base::Error invalid(const std::string& path, std::string_view what) {
  return schema_error(base::ErrorCode::invalid_argument, path, what);
}

// The tuple part and the other items of one atom's arrays, in the spelling of any draft.
struct Items {
  const json::array* prefix = nullptr;
  std::string prefix_path;
  const json::value* rest = nullptr;
  std::string rest_path;
};

base::Result<Items> items_of(const SchemaAtom& atom) {
  Items items;
  items.rest = atom.object->if_contains("items");
  items.rest_path = path_to(atom.path, "items");
  const json::value* prefix = atom.object->if_contains("prefixItems");
  items.prefix_path = path_to(atom.path, "prefixItems");
  if (items.rest != nullptr && items.rest->is_array()) {
    prefix = items.rest;
    items.prefix_path = items.rest_path;
    items.rest = atom.object->if_contains("additionalItems");
    items.rest_path = path_to(atom.path, "additionalItems");
  }
  if (prefix == nullptr) return items;
  items.prefix = prefix->if_array();
  if (items.prefix == nullptr) return invalid(items.prefix_path, "not a list of schemas");
  return items;
}

// The patterns of enum, const and format in propertyNames.
std::vector<std::string> whole_name_patterns(const json::object& names) {
  std::vector<std::string> patterns;
  const auto add = [&](const json::array& values) {
    std::string any;
    for (const json::value& value : values) {
      if (value.is_string()) any += (any.empty() ? "" : "|") + regex_of_text(value.get_string());
    }
    patterns.push_back(any.empty() ? "[]" : any);
  };
  if (const json::value* values = names.if_contains("enum"); values != nullptr && values->is_array())
    add(values->get_array());
  if (const json::value* value = names.if_contains("const")) add({*value});
  if (const json::value* format = names.if_contains("format"); format != nullptr && format->is_string()) {
    if (const auto regex = regex_of_format(format->get_string())) patterns.push_back(*regex);
  }
  return patterns;
}

bool allows_all(const SchemaRef& schema) {
  return *schema.value == true || (schema.value->is_object() && schema.value->get_object().empty());
}

std::set<std::shared_ptr<const Regex>> as_set(const std::vector<std::shared_ptr<const Regex>>& patterns) {
  return {patterns.begin(), patterns.end()};
}

}  // namespace

base::Status SchemaMerge::add_arrays() {
  std::vector<Items> all;
  std::size_t longest = 0;
  for (const SchemaAtom& atom : atoms_) {
    TRY(const std::uint32_t min, count(atom, "minItems", 0));
    TRY(const std::uint32_t max, count(atom, "maxItems", kUnbounded));
    spec_.min_items = std::max(spec_.min_items, min);
    spec_.max_items = std::min(spec_.max_items, max);
    const json::value* unique = atom.object->if_contains("uniqueItems");
    if (unique != nullptr && *unique == true) spec_.unique_path = path_to(atom.path, "uniqueItems");
    TRY(const Items items, items_of(atom));
    if (items.prefix != nullptr) longest = std::max(longest, items.prefix->size());
    all.push_back(items);
  }
  spec_.prefix.resize(longest);
  for (const Items& items : all) {
    const std::size_t own = items.prefix != nullptr ? items.prefix->size() : 0;
    for (std::size_t i = 0; i < longest; ++i) {
      if (i < own) {
        spec_.prefix[i].push_back({&(*items.prefix)[i], path_to(items.prefix_path, std::to_string(i))});
      } else if (items.rest != nullptr) {
        spec_.prefix[i].push_back({items.rest, items.rest_path});
      }
    }
    if (items.rest != nullptr) spec_.items.push_back({items.rest, items.rest_path});
  }
  return base::ok();
}

base::Status SchemaMerge::add_objects() {
  for (const SchemaAtom& atom : atoms_) {
    TRY(const std::uint32_t min, count(atom, "minProperties", 0));
    TRY(const std::uint32_t max, count(atom, "maxProperties", kUnbounded));
    if (min > spec_.min_properties) {
      spec_.min_properties = min;
      spec_.min_properties_path = path_to(atom.path, "minProperties");
    }
    spec_.max_properties = std::min(spec_.max_properties, max);
    TRY_OK(add_property_names(atom));
  }
  TRY_OK(add_key_patterns());
  TRY_OK(add_names());
  for (auto& property : spec_.properties) property.schema = schema_of(property.name);
  return add_key_classes();
}

base::Status SchemaMerge::add_property_names(const SchemaAtom& atom) {
  const json::value* names = atom.object->if_contains("propertyNames");
  if (names == nullptr || *names == true) return base::ok();
  const SchemaAtom inner{names->if_object(), path_to(atom.path, "propertyNames")};
  if (inner.object == nullptr) return unsupported_keyword(inner.path, "it must be an object");
  for (const auto& member : *inner.object) {
    const std::string_view key = member.key();
    constexpr std::array kNameKeywords{"minLength", "maxLength", "pattern", "description", "title",
                                       "enum",      "const",     "format",  "$comment",    "examples"};
    const bool known = std::ranges::find(kNameKeywords, key) != kNameKeywords.end() ||
                       (key == "type" && member.value() == "string");
    if (!known) return unsupported_keyword(path_to(inner.path, key), "names can have a pattern and a length");
  }
  TRY(const std::uint32_t min, count(inner, "minLength", 0));
  TRY(const std::uint32_t max, count(inner, "maxLength", kUnbounded));
  spec_.min_name_length = std::max(spec_.min_name_length, min);
  spec_.max_name_length = std::min(spec_.max_name_length, max);
  if (const json::value* text = inner.object->if_contains("pattern")) {
    if (!text->is_string()) return invalid(path_to(inner.path, "pattern"), "not a string");
    TRY(auto made, pattern(text->get_string(), path_to(inner.path, "pattern"), RegexExtent::anywhere));
    spec_.name_patterns.push_back(std::move(made));
  }
  for (const std::string& regex : whole_name_patterns(*inner.object)) {
    TRY(auto made, pattern(regex, inner.path, RegexExtent::whole));
    spec_.name_patterns.push_back(std::move(made));
  }
  return base::ok();
}

base::Status SchemaMerge::add_key_patterns() {
  for (std::size_t a = 0; a < atoms_.size(); ++a) {
    const json::value* patterns = atoms_[a].object->if_contains("patternProperties");
    if (patterns == nullptr) continue;
    const std::string path = path_to(atoms_[a].path, "patternProperties");
    if (!patterns->is_object()) return invalid(path, "not an object");
    for (const auto& member : patterns->get_object()) {
      const std::string own_path = path_to(path, member.key());
      TRY(auto made, pattern(member.key(), own_path, RegexExtent::anywhere));
      TRY(CharDfa dfa, CharDfa::make({.match = {made.regex.get()}}));
      key_patterns_.push_back({std::move(made), std::move(dfa), a, {&member.value(), own_path}});
    }
  }
  if (key_patterns_.size() > kMaxKeyPatterns) {
    return unsupported_keyword(path_to(spec_.path, "patternProperties"),
                               fmt::format("more than {} patterns", kMaxKeyPatterns));
  }
  return base::ok();
}

// Adds the declared properties in their order, then required ones that are not declared.
base::Status SchemaMerge::add_names() {
  const auto find = [&](std::string_view name) {
    auto it = std::ranges::find_if(spec_.properties, [&](const auto& p) { return p.name == name; });
    if (it != spec_.properties.end()) return it;
    spec_.properties.push_back({std::string(name), {}, false});
    return spec_.properties.end() - 1;
  };
  for (const SchemaAtom& atom : atoms_) {
    const json::value* properties = atom.object->if_contains("properties");
    if (properties == nullptr) continue;
    if (!properties->is_object()) return invalid(path_to(atom.path, "properties"), "not an object");
    for (const auto& member : properties->get_object()) find(member.key());
  }
  for (const SchemaAtom& atom : atoms_) {
    const json::value* required = atom.object->if_contains("required");
    if (required == nullptr) continue;
    const bool is_list =
        required->is_array() &&
        std::ranges::all_of(required->get_array(), [](const auto& name) { return name.is_string(); });
    if (!is_list) return invalid(path_to(atom.path, "required"), "not a list of names");
    for (const json::value& name : required->get_array()) find(name.get_string())->required = true;
  }
  return base::ok();
}

Conjunction SchemaMerge::schema_of(const std::string& name) const {
  static const json::value kNothing(false);
  Conjunction schema;
  for (std::size_t a = 0; a < atoms_.size(); ++a) {
    const std::size_t before = schema.size();
    if (const json::value* properties = atoms_[a].object->if_contains("properties")) {
      if (const json::value* own = properties->get_object().if_contains(name)) {
        schema.push_back({own, path_to(path_to(atoms_[a].path, "properties"), name)});
      }
    }
    for (const KeyPattern& key : key_patterns_) {
      if (key.atom == a && key.dfa.matches(name)) schema.push_back(key.schema);
    }
    const json::value* additional = atoms_[a].object->if_contains("additionalProperties");
    if (schema.size() == before && additional != nullptr) {
      schema.push_back({additional, path_to(atoms_[a].path, "additionalProperties")});
    }
  }
  if (spec_.name_patterns.empty() && spec_.min_name_length == 0 && spec_.max_name_length == kUnbounded) {
    return schema;
  }
  StringDemands demands{.min_length = spec_.min_name_length, .max_length = spec_.max_name_length};
  for (const auto& p : spec_.name_patterns) demands.match.push_back(p.regex.get());
  const auto dfa = CharDfa::make(demands);
  if (!dfa.ok() || !dfa->matches(name)) schema.push_back({&kNothing, spec_.path + "/propertyNames"});
  return schema;
}

base::Status SchemaMerge::add_key_classes() {
  for (std::size_t subset = 0; subset < (std::size_t{1} << key_patterns_.size()); ++subset) {
    SchemaSpec::KeyClass keys;
    for (const auto& p : spec_.name_patterns) keys.match.push_back(p.regex);
    for (std::size_t a = 0; a < atoms_.size(); ++a) {
      const std::size_t before = keys.schema.size();
      for (std::size_t k = 0; k < key_patterns_.size(); ++k) {
        if (key_patterns_[k].atom != a) continue;
        const bool matches = (subset >> k) & 1;
        (matches ? keys.match : keys.not_match).push_back(key_patterns_[k].pattern.regex);
        if (matches) keys.schema.push_back(key_patterns_[k].schema);
      }
      const json::value* additional = atoms_[a].object->if_contains("additionalProperties");
      if (keys.schema.size() == before && additional != nullptr) {
        keys.schema.push_back({additional, path_to(atoms_[a].path, "additionalProperties")});
      }
    }
    const bool possible =
        std::ranges::none_of(keys.schema, [](const SchemaRef& s) { return *s.value == false; });
    std::erase_if(keys.schema, allows_all);
    if (possible) spec_.keys.push_back(std::move(keys));
  }
  merge_key_classes();
  return base::ok();
}

// Two classes that differ in one pattern and have the same schema do not need the pattern.
void SchemaMerge::merge_key_classes() {
  for (std::size_t a = 0; a < spec_.keys.size(); ++a) {
    for (std::size_t b = a + 1; b < spec_.keys.size(); ++b) {
      SchemaSpec::KeyClass& left = spec_.keys[a];
      SchemaSpec::KeyClass& right = spec_.keys[b];
      if (!std::ranges::equal(left.schema, right.schema, {}, &SchemaRef::value, &SchemaRef::value)) continue;
      std::vector<std::shared_ptr<const Regex>> added;
      std::ranges::set_difference(as_set(right.match), as_set(left.match), std::back_inserter(added));
      const bool one_more = added.size() == 1 && right.match.size() == left.match.size() + 1 &&
                            left.not_match.size() == right.not_match.size() + 1 &&
                            std::ranges::find(left.not_match, added[0]) != left.not_match.end();
      if (!one_more) continue;
      std::erase(left.not_match, added[0]);
      spec_.keys.erase(spec_.keys.begin() + static_cast<std::ptrdiff_t>(b));
      a = b = 0;
    }
  }
}

}  // namespace kvasir::grammar

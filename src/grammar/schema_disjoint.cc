#include "grammar/schema_disjoint.h"

#include <algorithm>

namespace kvasir::grammar {
namespace {

constexpr int kMaxDisjointDepth = 6;
constexpr int kMaxPairs = 3'000;

bool numbers_apart(const NumberBounds& low, const NumberBounds& high) {
  if (!low.max || !high.min) return false;
  return *low.max < *high.min || (*low.max == *high.min && (low.max_excluded || high.min_excluded));
}

// The schema that applies to a key; null if the object may not have it, or if that is not clear.
const Conjunction* schema_of(const SchemaSpec& spec, const std::string& name) {
  const auto it = std::ranges::find_if(spec.properties, [&](const auto& p) { return p.name == name; });
  if (it != spec.properties.end()) return &it->schema;
  // Patterns are not examined. Without patterns all undeclared keys have the same schema.
  return spec.keys.size() == 1 && spec.keys[0].match.empty() ? &spec.keys[0].schema : nullptr;
}

}  // namespace

base::Result<bool> SchemaDisjoint::are_disjoint(const std::vector<Alternative>& left,
                                                const std::vector<Alternative>& right) {
  if (depth_ >= kMaxDisjointDepth) return false;
  if (num_pairs_ > kMaxPairs) return false;
  ++depth_;
  for (const Alternative& a : left) {
    for (const Alternative& b : right) {
      if (++num_pairs_ > kMaxPairs) {
        --depth_;
        return false;
      }
      TRY(const SchemaSpec left_spec, make_spec(a));
      TRY(const SchemaSpec right_spec, make_spec(b));
      TRY(const bool apart, specs(left_spec, right_spec));
      if (!apart) {
        --depth_;
        return false;
      }
    }
  }
  --depth_;
  return true;
}

base::Result<bool> SchemaDisjoint::specs(const SchemaSpec& a, const SchemaSpec& b) {
  if (a.values && b.values) {
    for (const auto& x : *a.values) {
      const auto same = [&](const auto& y) { return same_json(x, y); };
      if (std::ranges::none_of(*b.values, same)) continue;
      const bool is_scalar = !x.is_array() && !x.is_object();
      if (!is_scalar && (type_of(x) & a.types & b.types) != 0) return false;
      TRY(const bool in_a, a.allows_scalar(x));
      TRY(const bool in_b, b.allows_scalar(x));
      if (is_scalar && in_a && in_b) return false;
    }
    return true;
  }
  if (a.values) return values_outside(a, b);
  if (b.values) return values_outside(b, a);
  const unsigned common = a.types & b.types;
  if ((common & (kNull | kBoolean)) != 0) return false;
  if ((common & kNumber) != 0 && !numbers_apart(a.bounds, b.bounds) && !numbers_apart(b.bounds, a.bounds)) {
    return false;
  }
  if ((common & kArray) != 0 && a.min_items <= b.max_items && b.min_items <= a.max_items) return false;
  if ((common & kString) != 0) {
    TRY(const bool apart, strings(a, b));
    if (!apart) return false;
  }
  if ((common & kObject) != 0) return objects(a, b);
  return true;
}

base::Result<bool> SchemaDisjoint::values_outside(const SchemaSpec& a, const SchemaSpec& b) const {
  for (const auto& value : *a.values) {
    const bool is_scalar = !value.is_array() && !value.is_object();
    if (!is_scalar && (type_of(value) & b.types) != 0) return false;
    TRY(const bool allowed, b.allows_scalar(value));
    if (is_scalar && allowed) return false;
  }
  return true;
}

base::Result<bool> SchemaDisjoint::strings(const SchemaSpec& a, const SchemaSpec& b) const {
  if (a.min_length > b.max_length || b.min_length > a.max_length) return true;
  if (a.is_any_string() || b.is_any_string()) return false;
  StringDemands both;
  for (const SchemaSpec* spec : {&a, &b}) {
    for (const auto& pattern : spec->patterns) both.match.push_back(pattern.regex.get());
    for (const auto& pattern : spec->not_patterns) both.not_match.push_back(pattern.regex.get());
  }
  const auto dfa = CharDfa::make(both);
  return dfa.ok() && dfa->empty();
}

// Two schemas are disjoint if one requires a property that the other cannot have with any allowed value. Tags
// are constants, so all properties are first examined shallowly, then in depth.
base::Result<bool> SchemaDisjoint::objects(const SchemaSpec& a, const SchemaSpec& b) {
  const int own_depth = depth_;
  for (const int start_depth : {kMaxDisjointDepth - 1, own_depth}) {
    for (const SchemaSpec* spec : {&a, &b}) {
      const SchemaSpec& other = spec == &a ? b : a;
      for (const auto& property : spec->properties) {
        if (!property.required) continue;
        const Conjunction* theirs = schema_of(other, property.name);
        if (theirs == nullptr && !other.keys.empty()) continue;
        if (theirs == nullptr) return true;  // one requires it, and the other cannot have it
        TRY(const auto left, document_.expand(property.schema, SchemaDocument::OneOf::assume));
        TRY(const auto right, document_.expand(*theirs, SchemaDocument::OneOf::assume));
        depth_ = std::max(own_depth, start_depth);
        TRY(const bool apart, are_disjoint(left, right));
        depth_ = own_depth;
        if (apart) return true;
      }
    }
  }
  return false;
}

}  // namespace kvasir::grammar

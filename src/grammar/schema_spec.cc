#include "grammar/schema_spec.h"

#include <algorithm>
#include <cmath>

#include "grammar/regex_lookahead.h"
#include "grammar/schema_merge.h"
#include "grammar/schema_negation.h"
#include "grammar/string_formats.h"

namespace kvasir::grammar {
namespace {

namespace json = base::json;

base::Error invalid(const std::string& path, std::string_view what) {
  return schema_error(base::ErrorCode::invalid_argument, path, what);
}

base::Result<unsigned> type_named(const json::value& name, const std::string& path) {
  if (name == "null") return kNull;
  if (name == "boolean") return kBoolean;
  if (name == "integer") return kInteger;
  if (name == "number") return kNumber;
  if (name == "string") return kString;
  if (name == "array") return kArray;
  if (name == "object") return kObject;
  return invalid(path, "an unknown type");
}

// The strings in a list. A client may write any keyword, so its value may be anything.
std::vector<std::string_view> strings_in(const json::object& schema, const char* keyword) {
  std::vector<std::string_view> strings;
  const json::value* list = schema.if_contains(keyword);
  if (list == nullptr || !list->is_array()) return strings;
  for (const json::value& one : list->get_array()) {
    if (one.is_string()) strings.push_back(one.get_string());
  }
  return strings;
}

// Whether value modulo factor is 0, in exact decimals; absent if there are too many digits to decide.
std::optional<bool> is_multiple(const Decimal& value, const Decimal& factor) {
  const std::size_t places = std::max(value.fraction.size(), factor.fraction.size());
  const auto scaled = [&](const Decimal& d) {
    return d.whole + d.fraction + std::string(places - d.fraction.size(), '0');
  };
  const std::string a = scaled(value);
  const std::string b = scaled(factor);
  if (b.size() > 17 || b.find_first_not_of('0') == std::string::npos) return std::nullopt;
  const std::uint64_t modulus = std::stoull(b);
  std::uint64_t rest = 0;
  for (const char c : a) {
    rest = static_cast<std::uint64_t>(
        (static_cast<unsigned __int128>(rest) * 10 + static_cast<unsigned>(c - '0')) % modulus);
  }
  return rest == 0;
}

}  // namespace

base::Result<unsigned> types_named(const json::value& type, const std::string& path) {
  if (!type.is_array()) return type_named(type, path);
  unsigned types = 0;
  for (const json::value& name : type.get_array()) {
    TRY(const unsigned one, type_named(name, path));
    types |= one;
  }
  return types;
}

unsigned type_of(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return kNull;
    case json::kind::bool_:
      return kBoolean;
    case json::kind::string:
      return kString;
    case json::kind::array:
      return kArray;
    case json::kind::object:
      return kObject;
    case json::kind::double_:
      return std::trunc(value.get_double()) == value.get_double() ? kInteger : kFraction;
    default:
      return kInteger;
  }
}

bool same_json(const json::value& a, const json::value& b) {
  if (a.is_number() && b.is_number()) {
    const auto left = Decimal::of(a);
    const auto right = Decimal::of(b);
    return left && right ? *left == *right : a == b;
  }
  if (a.kind() != b.kind()) return false;
  if (a.is_array()) {
    return std::ranges::equal(a.get_array(), b.get_array(), same_json);
  }
  if (!a.is_object()) return a == b;
  return a.get_object().size() == b.get_object().size() &&
         std::ranges::all_of(a.get_object(), [&](const auto& member) {
           const json::value* other = b.get_object().if_contains(member.key());
           return other != nullptr && same_json(member.value(), *other);
         });
}

base::Result<CharDfa> SchemaSpec::string_dfa() const {
  StringDemands demands{.not_equal = not_strings, .min_length = min_length, .max_length = max_length};
  for (const Pattern& pattern : patterns) demands.match.push_back(pattern.regex.get());
  for (const Pattern& pattern : not_patterns) demands.not_match.push_back(pattern.regex.get());
  return CharDfa::make(demands);
}

base::Result<bool> SchemaSpec::allows_scalar(const json::value& value) const {
  if ((type_of(value) & types) == 0) return false;
  if (value.is_string()) {
    if (is_any_string()) return true;
    TRY(const CharDfa dfa, string_dfa());
    return dfa.matches(value.get_string());
  }
  if (!value.is_number()) return true;
  const auto number = Decimal::of(value);
  if (!number) return !bounds.min && !bounds.max && multiples.empty();
  if (bounds.min && (*number < *bounds.min || (bounds.min_excluded && *number == *bounds.min))) return false;
  if (bounds.max && (*number > *bounds.max || (bounds.max_excluded && *number == *bounds.max))) return false;
  for (const Multiple& multiple : multiples) {
    const auto fits = is_multiple(*number, multiple.factor);
    if (!fits) return unsupported_keyword(multiple.path, "the factor has too many digits");
    if (!*fits) return false;
  }
  return true;
}

base::Result<std::uint32_t> SchemaMerge::count(const SchemaAtom& atom, const char* keyword,
                                               std::uint32_t missing) const {
  const json::value* value = atom.object->if_contains(keyword);
  if (value == nullptr) return missing;
  const auto number = Decimal::of(*value);
  if (!number || !number->is_whole() || number->negative) {
    return invalid(path_to(atom.path, keyword), "not a whole number that is not negative");
  }
  constexpr std::size_t kDigits = 9;  // larger than the length of any output
  if (number->whole.size() > kDigits) {
    if (missing == kUnbounded) return kUnbounded;
    return schema_error(base::ErrorCode::too_large, path_to(atom.path, keyword), "a very large count");
  }
  return number->whole.empty() ? 0U : static_cast<std::uint32_t>(std::stoul(number->whole));
}

base::Status SchemaMerge::add_types(const SchemaAtom& atom) {
  if (const json::value* type = atom.object->if_contains("type")) {
    TRY(unsigned types, types_named(*type, path_to(atom.path, "type")));
    const json::value* nullable = atom.object->if_contains("nullable");
    if (nullable != nullptr && *nullable == true) types |= kNull;
    spec_.types &= types;
  }
  return base::ok();
}

base::Status SchemaMerge::add_values(const SchemaAtom& atom) {
  const auto keep = [&](std::vector<json::value> values) {
    if (spec_.values) {
      std::erase_if(values, [&](const json::value& value) {
        return std::ranges::none_of(*spec_.values, [&](const json::value& v) { return same_json(v, value); });
      });
    }
    spec_.values = std::move(values);
  };
  if (const json::value* constant = atom.object->if_contains("const")) keep({*constant});
  if (const json::value* list = atom.object->if_contains("enum")) {
    if (!list->is_array()) return invalid(path_to(atom.path, "enum"), "enum is not a list");
    keep({list->get_array().begin(), list->get_array().end()});
  }
  return base::ok();
}

base::Status SchemaMerge::add_numbers(const SchemaAtom& atom) {
  const auto read = [&](const char* keyword) -> base::Result<std::optional<Decimal>> {
    const json::value* value = atom.object->if_contains(keyword);
    if (value == nullptr || value->is_bool()) return std::optional<Decimal>();
    const auto number = Decimal::of(*value);
    if (!number) return invalid(path_to(atom.path, keyword), "not a number of use");
    return number;
  };
  // In draft 4, exclusiveMinimum is a boolean about minimum.
  const auto is_true = [&](const char* keyword) {
    const json::value* value = atom.object->if_contains(keyword);
    return value != nullptr && *value == true;
  };
  for (const bool own_keyword : {false, true}) {
    TRY(const auto min, read(own_keyword ? "exclusiveMinimum" : "minimum"));
    NumberBounds& bounds = spec_.bounds;
    const bool min_excluded = own_keyword || is_true("exclusiveMinimum");
    if (min && (!bounds.min || *min > *bounds.min || (*min == *bounds.min && min_excluded))) {
      bounds.min = min;
      bounds.min_excluded = min_excluded;
    }
    TRY(const auto max, read(own_keyword ? "exclusiveMaximum" : "maximum"));
    const bool max_excluded = own_keyword || is_true("exclusiveMaximum");
    if (max && (!bounds.max || *max < *bounds.max || (*max == *bounds.max && max_excluded))) {
      bounds.max = max;
      bounds.max_excluded = max_excluded;
    }
  }
  TRY(const auto multiple, read("multipleOf"));
  if (!multiple) return base::ok();
  const std::string path = path_to(atom.path, "multipleOf");
  if (multiple->negative || multiple->is_zero()) return invalid(path, "not over 0");
  const auto same = [&](const SchemaSpec::Multiple& known) { return known.factor == *multiple; };
  if (std::ranges::none_of(spec_.multiples, same)) spec_.multiples.push_back({*multiple, path});
  return base::ok();
}

base::Result<SchemaSpec::Pattern> SchemaMerge::pattern(std::string_view text, const std::string& path,
                                                       RegexExtent extent) const {
  auto regex = parse_regex(text, extent);
  if (!regex.ok()) {
    base::Error error = std::move(regex).error();
    error.message = fmt::format("JSON schema: {}, at {}", error.message, path);
    error.field = path;
    return error;
  }
  return SchemaSpec::Pattern{std::make_shared<const Regex>(std::move(*regex)), path};
}

base::Status SchemaMerge::add_strings(const SchemaAtom& atom) {
  TRY(const std::uint32_t min, count(atom, "minLength", 0));
  TRY(const std::uint32_t max, count(atom, "maxLength", kUnbounded));
  spec_.min_length = std::max(spec_.min_length, min);
  spec_.max_length = std::min(spec_.max_length, max);
  if (const json::value* text = atom.object->if_contains("pattern")) {
    const std::string path = path_to(atom.path, "pattern");
    if (!text->is_string()) return invalid(path, "not a string");
    SplitPattern split = split_lookaheads(text->get_string());
    split.match.push_back(std::move(split.rest));
    for (const std::string& one : split.match) {
      TRY(auto made, pattern(one, path, RegexExtent::anywhere));
      spec_.patterns.push_back(std::move(made));
    }
    for (const std::string& one : split.not_match) {
      TRY(auto made, pattern(one, path, RegexExtent::anywhere));
      spec_.not_patterns.push_back(std::move(made));
    }
  }
  for (const std::string_view one : strings_in(*atom.object, kNotPatterns)) {
    TRY(auto made, pattern(one, path_to(atom.path, "pattern"), RegexExtent::anywhere));
    spec_.not_patterns.push_back(std::move(made));
  }
  for (const std::string_view one : strings_in(*atom.object, kNotStrings))
    spec_.not_strings.emplace_back(one);
  const json::value* format = atom.object->if_contains("format");
  if (format == nullptr || (spec_.types & kString) == 0) return base::ok();
  const std::string path = path_to(atom.path, "format");
  if (!format->is_string()) return invalid(path, "not a string");
  const auto regex = regex_of_format(format->get_string());
  if (!regex) return base::ok();  // an annotation
  TRY(auto made, pattern(*regex, path, RegexExtent::whole));
  spec_.patterns.push_back(std::move(made));
  return base::ok();
}

base::Result<SchemaSpec> SchemaMerge::merge() {
  if (!atoms_.empty()) spec_.path = atoms_[0].path;
  for (const SchemaAtom& atom : atoms_) TRY_OK(add_types(atom));
  for (const SchemaAtom& atom : atoms_) {
    TRY_OK(add_values(atom));
    TRY_OK(add_numbers(atom));
    TRY_OK(add_strings(atom));
  }
  TRY_OK(add_arrays());
  TRY_OK(add_objects());
  return std::move(spec_);
}

base::Result<SchemaSpec> make_spec(const Alternative& alternative) {
  return SchemaMerge(alternative).merge();
}

}  // namespace kvasir::grammar

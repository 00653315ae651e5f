#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "grammar/char_dfa.h"
#include "grammar/decimal.h"
#include "grammar/number_grammar.h"
#include "grammar/regex.h"
#include "grammar/schema_document.h"

namespace kvasir::grammar {

enum JsonType : unsigned {
  kNull = 1,
  kBoolean = 2,
  kInteger = 4,
  kFraction = 8,  // a number that is not an integer; "number" is both
  kNumber = kInteger | kFraction,
  kString = 16,
  kArray = 32,
  kObject = 64,
  kAllTypes = 127,
};

unsigned type_of(const base::json::value& value);
// The types of the keyword `type`.
base::Result<unsigned> types_named(const base::json::value& type, const std::string& path);

// All keywords of one alternative, merged. Schemas of children stay conjunctions.
struct SchemaSpec {
  struct Pattern {
    std::shared_ptr<const Regex> regex;
    std::string path;
  };
  struct Multiple {
    Decimal factor;
    std::string path;
  };
  struct Property {
    std::string name;
    Conjunction schema;
    bool required = false;
  };
  // Undeclared keys that match some patterns and not others.
  struct KeyClass {
    std::vector<std::shared_ptr<const Regex>> match;
    std::vector<std::shared_ptr<const Regex>> not_match;
    Conjunction schema;
  };

  std::string path;  // of the first atom, for messages
  unsigned types = kAllTypes;
  std::optional<std::vector<base::json::value>> values;

  NumberBounds bounds;
  std::vector<Multiple> multiples;

  std::uint32_t min_length = 0;
  std::uint32_t max_length = kUnbounded;
  std::vector<Pattern> patterns;  // includes formats
  std::vector<Pattern> not_patterns;
  std::vector<std::string> not_strings;

  std::vector<Conjunction> prefix;
  Conjunction items;  // after the prefix
  std::uint32_t min_items = 0;
  std::uint32_t max_items = kUnbounded;
  std::optional<std::string> unique_path;  // of uniqueItems, if it is true

  std::vector<Property> properties;
  std::vector<KeyClass> keys;  // of undeclared properties
  std::uint32_t min_properties = 0;
  std::uint32_t max_properties = kUnbounded;
  std::string min_properties_path;
  std::vector<Pattern> name_patterns;  // from propertyNames
  std::uint32_t min_name_length = 0;
  std::uint32_t max_name_length = kUnbounded;

  // Whether a value that is neither array nor object meets all keywords except `values`.
  base::Result<bool> allows_scalar(const base::json::value& value) const;
  bool is_any_string() const {
    return min_length == 0 && max_length == kUnbounded && patterns.empty() && not_patterns.empty() &&
           not_strings.empty();
  }
  // The strings that meet all keywords except `values`.
  base::Result<CharDfa> string_dfa() const;
};

base::Result<SchemaSpec> make_spec(const Alternative& alternative);

// JSON equality: 1 and 1.0 are equal.
bool same_json(const base::json::value& a, const base::json::value& b);

}  // namespace kvasir::grammar

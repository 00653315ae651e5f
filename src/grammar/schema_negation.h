#pragma once

#include <map>
#include <memory>

#include "grammar/schema_document.h"

namespace kvasir::grammar {

// An internal keyword: strings that are not in this list.
inline constexpr const char* kNotStrings = "\x01not strings";
// An internal keyword: strings in which none of these patterns match.
inline constexpr const char* kNotPatterns = "\x01not patterns";

// Writes schemas for the values that other schemas forbid. Owned by one SchemaDocument, and owns the schemas
// that it writes.
class SchemaNegation {
 public:
  explicit SchemaNegation(const SchemaDocument& document) : document_(document) {}

  // A schema of values that are not valid under `schema`: many of them, though not always all. It is `false`
  // if none can be described. The same argument gives the same schema.
  const base::json::value& of(const base::json::value& schema);

  // `if`, `then` and `else` of a schema as an anyOf.
  const base::json::value& of_condition(const base::json::object& schema);
  // `dependencies`, `dependentRequired` or `dependentSchemas` as an allOf of choices.
  const base::json::value& of_dependencies(const base::json::object& dependencies);

 private:
  // Returns `false` if the values cannot be described, or once too many schemas were looked at.
  base::json::value negate(const base::json::value& schema, int depth);
  base::json::array ways_out(const base::json::object& schema, int depth);
  void add_members(const base::json::object& schema, int depth, base::json::array& ways);
  void add_combinations(const base::json::object& schema, int depth, base::json::array& ways);

  const SchemaDocument& document_;
  int num_negated_ = 0;  // of the whole document
  std::map<const void*, std::unique_ptr<base::json::value>> made_;
};

}  // namespace kvasir::grammar

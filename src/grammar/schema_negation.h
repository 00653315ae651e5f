#pragma once

#include <map>
#include <memory>

#include "grammar/schema_document.h"

namespace kvasir::grammar {

// Strings that are not in this list. Not a keyword of clients.
inline constexpr const char* kNotStrings = "\x01not strings";
// Strings in which none of these patterns match.
inline constexpr const char* kNotPatterns = "\x01not patterns";

// Writes schemas for what other schemas forbid. Owned by one SchemaDocument; the schemas live as long as it.
class SchemaNegation {
 public:
  explicit SchemaNegation(const SchemaDocument& document) : document_(document) {}

  // A schema of values that are not valid under `schema`: many of them, though not always all. `false` if
  // none can be described. The same schema for the same argument.
  const base::json::value& of(const base::json::value& schema);

  // `if`, `then` and `else` of a schema as an anyOf.
  const base::json::value& of_condition(const base::json::object& schema);
  // `dependencies`, `dependentRequired` or `dependentSchemas` as an allOf of choices.
  const base::json::value& of_dependencies(const base::json::object& dependencies);

 private:
  // `false` once too many schemas were looked at, as it is for anything that cannot be described.
  base::json::value negate(const base::json::value& schema, int depth);
  base::json::array ways_out(const base::json::object& schema, int depth);
  void add_members(const base::json::object& schema, int depth, base::json::array& ways);
  void add_combinations(const base::json::object& schema, int depth, base::json::array& ways);

  const SchemaDocument& document_;
  int num_negated_ = 0;  // of the whole document
  std::map<const void*, std::unique_ptr<base::json::value>> made_;
};

}  // namespace kvasir::grammar

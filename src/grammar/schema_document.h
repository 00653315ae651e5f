#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "grammar/notes.h"

namespace kvasir::grammar {

class SchemaNegation;

// A value in a schema, and its path ("#/properties/x").
struct SchemaRef {
  const base::json::value* value;
  std::string path;
};

// Schemas that all apply to one place in the output.
using Conjunction = std::vector<SchemaRef>;

// One object schema without its applicators ($ref, allOf, anyOf, oneOf), which `expand` resolves.
struct SchemaAtom {
  const base::json::object* object;
  std::string path;
};
// Atoms that all apply. A place in the output is a choice of alternatives.
using Alternative = std::vector<SchemaAtom>;

base::Error schema_error(base::ErrorCode code, const std::string& path, std::string_view what);
base::Error unsupported_keyword(const std::string& path, std::string_view why);

// Appends a key to a path, escaped as in JSON pointers: "#/a/b".
std::string path_to(const std::string& path, std::string_view key);

// One schema document: resolves its references and computes its disjunctive form. The JSON outlives it.
class SchemaDocument {
 public:
  // Adds to `notes` what it ignores.
  SchemaDocument(const base::json::value& root, Notes& notes);
  ~SchemaDocument();

  SchemaRef root() const { return {&root_, "#"}; }
  base::Result<SchemaRef> resolve(const base::json::value& reference, const std::string& path) const;

  // Whether the branches of a oneOf must be shown to exclude each other, or are treated as an anyOf.
  enum class OneOf { check, assume };

  // The alternatives of a conjunction. Empty: nothing is valid.
  base::Result<std::vector<Alternative>> expand(const Conjunction& conjunction,
                                                OneOf one_of = OneOf::check) const;

 private:
  struct Walk {
    OneOf one_of;
    int depth = 0;
    Walk deeper() const { return {one_of, depth + 1}; }
  };

  base::Status expand_into(const SchemaRef& schema, Walk walk, std::vector<Alternative>& out) const;
  base::Status expand_any(const SchemaRef& list, Walk walk, std::vector<Alternative>& out) const;
  base::Status expand_conditions(const SchemaRef& schema, Walk walk, std::vector<Alternative>& out) const;
  base::Status exclude_others(const SchemaRef& list, Walk walk, const std::vector<Alternative>& base,
                              std::vector<std::vector<Alternative>>& branches) const;

  const base::json::value& root_;
  Notes& notes_;
  std::unique_ptr<SchemaNegation> negation_;
};

}  // namespace kvasir::grammar

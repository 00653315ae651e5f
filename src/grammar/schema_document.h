#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace kvasir::grammar {

// A place in a schema: a value, and how to say where it stands ("#/properties/x").
struct SchemaRef {
  const base::json::value* value;
  std::string path;
};

// Schemas that all apply to one place of the output.
using Conjunction = std::vector<SchemaRef>;

// One object schema without its applicators ($ref, allOf, anyOf, oneOf), which `expand` has dealt with.
struct SchemaAtom {
  const base::json::object* object;
  std::string path;
};
// Atoms that all apply. A place of the output is a choice of these.
using Alternative = std::vector<SchemaAtom>;

base::Error schema_error(base::ErrorCode code, const std::string& path, std::string_view what);
base::Error unsupported_keyword(const std::string& path, std::string_view why);

// "#/a/b" with the key escaped as JSON pointers are.
std::string path_to(const std::string& path, std::string_view key);

// One schema document: its references and its disjunctive form. The document outlives it.
class SchemaDocument {
 public:
  explicit SchemaDocument(const base::json::value& root) : root_(root) {}

  SchemaRef root() const { return {&root_, "#"}; }

  // Whether the branches of a oneOf are shown to exclude each other, or taken as an anyOf.
  enum class OneOf { check, assume };

  // What a conjunction amounts to: any of these alternatives. None: nothing is valid.
  base::Result<std::vector<Alternative>> expand(const Conjunction& conjunction,
                                                OneOf one_of = OneOf::check) const;

 private:
  struct Walk {
    OneOf one_of;
    int depth = 0;
    Walk deeper() const { return {one_of, depth + 1}; }
  };

  base::Result<SchemaRef> resolve(const base::json::value& reference, const std::string& path) const;
  base::Status expand_into(const SchemaRef& schema, Walk walk, std::vector<Alternative>& out) const;
  base::Status expand_any(const SchemaRef& list, Walk walk, std::vector<Alternative>& out) const;
  base::Status check_one_of(const std::vector<Alternative>& base,
                            const std::vector<std::vector<Alternative>>& branches,
                            const std::string& path) const;

  const base::json::value& root_;
};

}  // namespace kvasir::grammar

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "grammar/schema_spec.h"

namespace kvasir::grammar {

// Merges the keywords of all atoms of an alternative into one spec. Used once. Private to schema*.cc.
class SchemaMerge {
 public:
  explicit SchemaMerge(const Alternative& atoms) : atoms_(atoms) {}

  base::Result<SchemaSpec> merge();

 private:
  // An entry of patternProperties in one atom.
  struct KeyPattern {
    SchemaSpec::Pattern pattern;
    CharDfa dfa;
    std::size_t atom;
    SchemaRef schema;
  };

  base::Status add_types(const SchemaAtom& atom);
  base::Status add_values(const SchemaAtom& atom);
  base::Status add_numbers(const SchemaAtom& atom);
  base::Status add_strings(const SchemaAtom& atom);
  base::Status add_arrays();
  base::Status add_objects();
  base::Status add_key_patterns();
  base::Status add_names();
  base::Status add_property_names(const SchemaAtom& atom);
  base::Status add_key_classes();
  void merge_key_classes();
  // The schemas that the atoms give for a declared property.
  Conjunction schema_of(const std::string& name) const;

  // The value of a keyword that is a count; `missing` if it is absent.
  base::Result<std::uint32_t> count(const SchemaAtom& atom, const char* keyword, std::uint32_t missing) const;
  base::Result<SchemaSpec::Pattern> pattern(std::string_view text, const std::string& path,
                                            RegexExtent extent) const;

  const Alternative& atoms_;
  SchemaSpec spec_;
  std::vector<KeyPattern> key_patterns_;
};

}  // namespace kvasir::grammar

#pragma once

#include <vector>

#include "grammar/schema_document.h"
#include "grammar/schema_spec.h"

namespace kvasir::grammar {

// Decides, as far as it can, that no value is valid under two schemas at once: by type, by value, by range,
// or by a property that one requires and the other cannot have with such a value.
class SchemaDisjoint {
 public:
  explicit SchemaDisjoint(const SchemaDocument& document) : document_(document) {}

  // True if they are surely disjoint.
  base::Result<bool> are_disjoint(const std::vector<Alternative>& left,
                                  const std::vector<Alternative>& right);

 private:
  base::Result<bool> specs(const SchemaSpec& a, const SchemaSpec& b);
  base::Result<bool> values_outside(const SchemaSpec& a, const SchemaSpec& b) const;
  base::Result<bool> strings(const SchemaSpec& a, const SchemaSpec& b) const;
  base::Result<bool> objects(const SchemaSpec& a, const SchemaSpec& b);

  const SchemaDocument& document_;
  int depth_ = 0;
  int num_pairs_ = 0;
};

}  // namespace kvasir::grammar

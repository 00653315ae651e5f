#pragma once

#include "base/json.h"

namespace kvasir::grammar {

// Whether a value fits a schema, as far as the schema says it in keywords that are looked at: types, values,
// members, items, bounds and combinations. Patterns, formats and what is unknown say nothing, and so does
// what lies too deep.
bool fits_schema(const base::json::value& value, const base::json::value& schema);

}  // namespace kvasir::grammar

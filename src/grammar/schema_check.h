#pragma once

#include "base/json.h"

namespace kvasir::grammar {

// Whether a value fits a schema. Checks types, values, members, items, bounds and combinations. Patterns,
// formats, unknown keywords and very deep schemas are ignored.
bool fits_schema(const base::json::value& value, const base::json::value& schema);

}  // namespace kvasir::grammar

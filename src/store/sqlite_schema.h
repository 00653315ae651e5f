#pragma once

#include <span>

namespace kvasir::store {

// The SQL that leads from each version of the schema to the next. A released one is never changed: what comes
// later is a further entry.
std::span<const char* const> migrations();

}  // namespace kvasir::store

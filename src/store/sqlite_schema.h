#pragma once

#include <span>

namespace kvasir::store {

// The SQL that leads from each version of the schema to the next. A released entry is never changed; later
// changes are further entries.
std::span<const char* const> migrations();

}  // namespace kvasir::store

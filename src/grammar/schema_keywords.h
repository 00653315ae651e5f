#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace kvasir::grammar {

// Fails on the first keyword of a schema object that is neither enforced nor an annotation.
base::Status check_keywords(const base::json::object& schema, const std::string& path);

}  // namespace kvasir::grammar

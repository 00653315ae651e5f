#pragma once

#include <string_view>

#include "base/json.h"

namespace kvasir::base {

// Like parse_json, but a repeated key in an object is an error with the reason "duplicate_key". Otherwise the
// last member would count, and two readers of one text could disagree.
Result<json::value> parse_unique_json(std::string_view text, JsonLimits limits = {});

}  // namespace kvasir::base

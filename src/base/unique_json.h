#pragma once

#include <string_view>

#include "base/json.h"

namespace kvasir::base {

// As parse_json, but an object that has a key twice is an error, with the reason "duplicate_key": otherwise
// the last one counts, and two readers of one text may disagree.
Result<json::value> parse_unique_json(std::string_view text, JsonLimits limits = {});

}  // namespace kvasir::base

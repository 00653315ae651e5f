#pragma once

#include <boost/json.hpp>
#include <string_view>

#include "base/result.h"

namespace kvasir::base {

namespace json = boost::json;

struct JsonLimits {
  int max_depth = 64;
};

// Strict RFC 8259 JSON with valid UTF-8; the error says what is wrong and at which byte.
Result<json::value> parse_json(std::string_view text, JsonLimits limits = {});

}  // namespace kvasir::base

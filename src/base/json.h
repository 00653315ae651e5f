#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kvasir::base {

namespace json = boost::json;

struct JsonLimits {
  int max_depth = 64;
};

// Parses strict RFC 8259 JSON with valid UTF-8. The error says what is wrong and at which byte; its reason is
// "invalid_json" or "invalid_utf8".
Result<json::value> parse_json(std::string_view text, JsonLimits limits = {});

// Writes compact JSON. Numbers look as people write them (-1.5, not -1.5E0) and can be read back exactly;
// numbers that are not finite become null. Strings must be valid UTF-8.
std::string json_text(const json::value& value);
std::string json_text(const json::object& object);

}  // namespace kvasir::base

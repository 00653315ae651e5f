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

// Strict RFC 8259 JSON with valid UTF-8; the error says what is wrong and at which byte. Its reason is
// "invalid_json" or "invalid_utf8".
Result<json::value> parse_json(std::string_view text, JsonLimits limits = {});

// Compact JSON. Numbers read as people write them (-1.5, not -1.5E0) and come back as they were; what is not
// finite becomes null. Strings must hold valid UTF-8.
std::string json_text(const json::value& value);
std::string json_text(const json::object& object);

}  // namespace kvasir::base

#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kvasir::base {

namespace json = boost::json;

struct JsonLimits {
  int max_depth = 64;
  // An object that has a key twice is an error. Otherwise the last one counts, and two readers of the text may
  // disagree.
  bool unique_keys = false;
};

// Strict RFC 8259 JSON with valid UTF-8; the error says what is wrong and at which byte. Its reason is
// "invalid_json", "invalid_utf8" or "duplicate_key".
Result<json::value> parse_json(std::string_view text, JsonLimits limits = {});

// Compact JSON. Numbers read as people write them (-1.5, not -1.5E0) and come back as they were; what is not
// finite becomes null. Strings must hold valid UTF-8.
std::string json_text(const json::value& value);
std::string json_text(const json::object& object);

}  // namespace kvasir::base

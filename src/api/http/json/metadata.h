#pragma once

#include <string_view>

#include "api/http/json/fields.h"

namespace kvasir::api {

// Reads a client's metadata: at most 16 pairs, names of up to 64 characters, values of up to 512, as in
// OpenAI's API.
base::Result<json::object> read_metadata(const json::value& value);
inline constexpr std::string_view kMetadataSchema = R"({"type": "object", "maxProperties": 16,
    "propertyNames": {"maxLength": 64}, "additionalProperties": {"type": "string", "maxLength": 512}})";

}  // namespace kvasir::api

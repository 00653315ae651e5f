#pragma once

#include <string_view>

#include "api/http/fields.h"

namespace kvasir::api {

// A client's own words about a thing: at most 16 pairs, names of 64 characters, texts of 512, as OpenAI has
// it.
base::Result<json::object> read_metadata(const json::value& value);
inline constexpr std::string_view kMetadataSchema = R"({"type": "object", "maxProperties": 16,
    "propertyNames": {"maxLength": 64}, "additionalProperties": {"type": "string", "maxLength": 512}})";

}  // namespace kvasir::api

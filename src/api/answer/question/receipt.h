#pragma once

#include <optional>
#include <string_view>

#include "api/answer/question/generate_params.h"
#include "api/http/service/promise.h"
#include "base/json.h"
#include "wire/token_event.h"

namespace kvasir::api {

// Reads the field "kvasir", which has this server's own options.
base::Status read_own_field(const json::value& value, GenerateParams& params);
inline constexpr std::string_view kOwnFieldSchema =
    R"({"type": "object", "additionalProperties": false, "properties": {"receipt": {
         "type": ["boolean", "null"], "default": false,
         "description": "How long the request waited and what it cost its tenant, in the answer's `kvasir`."},
       "allow_downgrade": {"type": ["boolean", "null"], "default": false,
         "description": "A smaller model may answer if this one would be late."}}})";

// The receipt of an answer, made when the answer has ended.
json::object receipt_object(const wire::Usage& usage, const Promise& promise);

}  // namespace kvasir::api

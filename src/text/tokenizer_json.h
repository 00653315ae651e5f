#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "text/tokenizer_parts.h"

namespace kvasir::text {

// Members of a JSON object; null, empty or false where absent or of another type.
const base::json::object* json_object(const base::json::object& object, std::string_view key);
const base::json::array* json_array(const base::json::object& object, std::string_view key);
std::string json_text(const base::json::object& object, std::string_view key);
bool json_flag(const base::json::object& object, std::string_view key);

// tokenizer.json's normalizer, pre-tokenizer and post-processor. What Kvasir does not know is `unsupported`.
base::Status add_preparation(const base::json::object& file, TokenizerParts& parts);

}  // namespace kvasir::text

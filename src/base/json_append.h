#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"

// Append parts of compact JSON to a text. The format is that of `json_text`.
namespace kvasir::base {

// Appends the text in quotes, with escapes.
void append_json(std::string& out, std::string_view text);
void append_json(std::string& out, std::int64_t number);
void append_json(std::string& out, const json::value& value);

}  // namespace kvasir::base

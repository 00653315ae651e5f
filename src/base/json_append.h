#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"

// Parts of compact JSON, appended to a text whose form is known. It is written as `json_text` writes it.
namespace kvasir::base {

// In quotes.
void append_json(std::string& out, std::string_view text);
void append_json(std::string& out, std::int64_t number);
void append_json(std::string& out, const json::value& value);

}  // namespace kvasir::base

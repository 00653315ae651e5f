#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace kvasir::api {

// The name of the one argument that stands for the input of a custom tool.
inline constexpr std::string_view kCustomInput = "input";

// The arguments that stand for an input.
boost::json::object custom_arguments(std::string_view input);
// The input that arguments stand for; empty if they are incomplete.
std::string custom_input(std::string_view arguments);

}  // namespace kvasir::api

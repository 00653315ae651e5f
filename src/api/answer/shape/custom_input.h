#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace kvasir::api {

// The name of the one argument of a function that stands for a custom tool. The argument is the tool's input.
inline constexpr std::string_view kCustomInput = "input";

// Wraps an input in the arguments of a call.
boost::json::object custom_arguments(std::string_view input);
// The input in the arguments of a call. Empty if the arguments are incomplete.
std::string custom_input(std::string_view arguments);

}  // namespace kvasir::api

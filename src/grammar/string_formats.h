#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kvasir::grammar {

// The regular expression for whole texts of a JSON schema `format`; absent if the format is unknown. It
// matches only texts of the format, and leaves out unusual ones.
std::optional<std::string> regex_of_format(std::string_view format);

}  // namespace kvasir::grammar

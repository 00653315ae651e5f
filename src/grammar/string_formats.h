#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kvasir::grammar {

// The regular expression (for the whole text) of a JSON schema `format`, or none where the format is not
// known. It matches only texts of the format, and leaves out those that are valid but odd.
std::optional<std::string> regex_of_format(std::string_view format);

}  // namespace kvasir::grammar

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/http_message.h"

namespace kvasir::net {

// Sets path and query from the target of a request line: "/a%20b?c=d", or the same after "http://host". "*"
// stays as it is. False for any other target, and for escapes that are invalid or contain a NUL.
bool split_target(std::string_view target, HttpRequest& into);

// Absent if an escape is invalid or is a NUL.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace kvasir::net

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/http_message.h"

namespace kvasir::net {

// Sets path and query from a request line's target: "/a%20b?c=d", or the same after "http://host". "*" stays
// as it is. False: it is none of these, or its escapes are broken or hide a NUL.
bool split_target(std::string_view target, HttpRequest& into);

// Nothing where an escape is broken or hides a NUL.
std::optional<std::string> percent_decode(std::string_view text);

}  // namespace kvasir::net

#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace kvasir::text::jinja {

// The text between a literal's quotes, with Python's escapes resolved. Unknown escapes stay as they are. An
// escape that is cut short or names a character is an error.
base::Result<std::string> unescape_literal(std::string_view quoted);

}  // namespace kvasir::text::jinja

#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace kvasir::text::jinja {

// Returns the text between a literal's quotes with Python's escapes resolved. Unknown escapes stay as they
// are. An incomplete escape, or one that names a character (\N), is an error.
base::Result<std::string> unescape_literal(std::string_view quoted);

}  // namespace kvasir::text::jinja

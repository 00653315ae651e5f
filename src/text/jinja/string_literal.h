#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace kvasir::text::jinja {

// What stands between a literal's quotes, with Python's escapes resolved; an unknown one stays as it is. An
// error where one is cut short, or is a character's name.
base::Result<std::string> unescape_literal(std::string_view quoted);

}  // namespace kvasir::text::jinja

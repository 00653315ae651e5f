#pragma once

#include <string>
#include <string_view>

namespace kvasir::text::jinja {

// What stands between a literal's quotes, with Python's escapes resolved; an unknown one stays as it is.
std::string unescape_literal(std::string_view quoted);

}  // namespace kvasir::text::jinja

#pragma once

#include <string_view>

#include "base/result.h"
#include "text/jinja/ast.h"

namespace kvasir::text::jinja {

// Parses a template. An error names the line.
base::Result<Template> parse(std::string_view source);

}  // namespace kvasir::text::jinja

#pragma once

#include <string_view>

namespace kvasir::api {

// A page that draws /openapi.json; it loads nothing from elsewhere.
extern const std::string_view kDocsPage;

}  // namespace kvasir::api

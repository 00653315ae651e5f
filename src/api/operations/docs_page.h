#pragma once

#include <string_view>

namespace kvasir::api {

// An HTML page that renders /openapi.json. It loads nothing from other sites.
extern const std::string_view kDocsPage;

}  // namespace kvasir::api

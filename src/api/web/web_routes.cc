#include "api/http/service/route.h"
#include "api/web/endpoints.h"

namespace kvasir::api {

namespace {

constexpr Answer kWebPage[] = {{200, "The page, for who asks for HTML.", {}, "text/html"},
                               {200, "For others: \"Ollama is running\".", {}, "text/plain"},
                               {304, "The browser has it already.", {}, ""}};
constexpr Answer kWebAsset[] = {{200, "The file.", {}, "*/*"}, {304, "The browser has it already.", {}, ""}};

constexpr Route kWebRoutes[] = {
    {.method = "GET",
     .path = "/",
     .kind = RouteKind::view,
     .handle = handle_web_page,
     .summary = "Chat, machine view and playground for browsers",
     .answers = kWebPage,
     .scope = Scope::anyone},
    {.method = "GET",
     .path = "/assets/{name}",
     .kind = RouteKind::view,
     .handle = handle_web_asset,
     .summary = "Scripts, styles and pictures of the page",
     .answers = kWebAsset,
     .scope = Scope::anyone},
};

}  // namespace

RouteGroup web_routes() {
  return {"Web", kWebRoutes, {}};
}

}  // namespace kvasir::api

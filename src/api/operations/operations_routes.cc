#include "api/http/service/route.h"
#include "api/operations/endpoints.h"

namespace kvasir::api {

namespace {

constexpr NamedSchema kOperationsSchemas[] = {
    {"Live", R"({"type": "object", "required": ["status"], "properties": {"status": {"const": "live"}}})"},
    {"Health", R"({"type": "object", "required": ["status", "models"], "properties": {
        "status": {"enum": ["ready", "not ready", "draining", "restarting", "progressing", "stalled"]},
        "models": {"type": "object", "additionalProperties": {"type": "object", "required": ["state"],
          "properties": {
            "state": {"enum": ["unloaded", "queued", "downloading", "loading", "measuring", "ready", "leaving",
                               "failed", "restarting"]},
            "progress": {"type": "number", "minimum": 0, "maximum": 1,
                         "description": "Of a download."},
            "reason": {"type": "string", "description": "Of a failure or a restart."},
            "progressing": {"type": "boolean",
                            "description": "The engine ended a step lately, or has nothing to do."}}}}}})"},
};

constexpr Answer kLive[] = {{200, "The process answers.", "Live"}};
constexpr Answer kReady[] = {{200, "At least one model is ready, or is loaded on request.", "Health"},
                             {503, "None is, or the server is shutting down or being restarted.", "Health"}};
constexpr Answer kProgress[] = {{200, "Every engine that has work goes on.", "Health"},
                                {503, "One does not.", "Health"}};
constexpr Answer kMetrics[] = {{200, "Prometheus' text format.", {}, "text/plain"}};
constexpr Answer kDocument[] = {{200, "An OpenAPI 3.1 document.", R"({"type": "object"})"}};
constexpr Answer kPage[] = {{200, "A page that shows the document.", {}, "text/html"}};

constexpr Route kOperationsRoutes[] = {
    {.method = "GET",
     .path = "/health",
     .kind = RouteKind::view,
     .handle = handle_ready,
     .summary = "The same as /health/ready, where most probes look for it",
     .answers = kReady,
     .scope = Scope::anyone},
    {.method = "GET",
     .path = "/health/live",
     .kind = RouteKind::view,
     .handle = handle_live,
     .summary = "Whether the process answers",
     .answers = kLive,
     .scope = Scope::anyone},
    {.method = "GET",
     .path = "/health/ready",
     .kind = RouteKind::view,
     .handle = handle_ready,
     .summary = "Whether new requests are welcome",
     .answers = kReady,
     .scope = Scope::anyone},
    {.method = "GET",
     .path = "/health/progress",
     .kind = RouteKind::view,
     .handle = handle_progress,
     .summary = "Whether the engines go on",
     .answers = kProgress,
     .scope = Scope::anyone},
    {.method = "GET",
     .path = "/metrics",
     .kind = RouteKind::view,
     .handle = handle_metrics,
     .summary = "What the server has done and is doing",
     .answers = kMetrics,
     .scope = Scope::metrics},
    {.method = "GET",
     .path = "/openapi.json",
     .kind = RouteKind::view,
     .handle = handle_openapi,
     .summary = "This API as a document",
     .answers = kDocument,
     .scope = Scope::holder},
    {.method = "GET",
     .path = "/docs",
     .kind = RouteKind::view,
     .handle = handle_docs,
     .summary = "This API as a page",
     .answers = kPage,
     .scope = Scope::holder},
};

}  // namespace

RouteGroup operations_routes() {
  return {"Operations", kOperationsRoutes, kOperationsSchemas};
}

}  // namespace kvasir::api

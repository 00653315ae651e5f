#include "api/http/service/route.h"
#include "api/machine/endpoints.h"

namespace kvasir::api {

namespace {

constexpr Answer kMachineEvents[] = {
    {200,
     "Two events a second: what the models, their requests and their steps do.",
     {},
     "text/event-stream"}};
constexpr Answer kCancelledRequest[] = {
    {200, "Whatever ran under that id ends.",
     R"({"type": "object", "required": ["id", "object", "cancelled"], "properties": {"id": {"type": "string"},
         "object": {"const": "request"}, "cancelled": {"const": true}}})"}};

constexpr Route kMachineRoutes[] = {
    {.method = "GET",
     .path = "/v1/machine/events",
     .kind = RouteKind::view,
     .handle = handle_machine_events,
     .summary = "What the machine does, as it does it",
     .answers = kMachineEvents,
     .scope = Scope::machine},
    {.method = "DELETE",
     .path = "/v1/machine/requests/{id}",
     .kind = RouteKind::view,
     .handle = handle_cancel_request,
     .summary = "Cancel a request that runs or waits",
     .answers = kCancelledRequest,
     .scope = Scope::machine},
};

}  // namespace

RouteGroup machine_routes() {
  return {"Machine", kMachineRoutes, {}};
}

}  // namespace kvasir::api

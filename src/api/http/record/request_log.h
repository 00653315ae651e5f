#pragma once

#include <string>

#include "api/http/service/route.h"
#include "api/http/service/service.h"
#include "base/clock.h"

// The records of a request that has ended: one line in the log and its trace.
namespace kvasir::api {

// Begins the trace of a request, which continues the client's trace if the headers name one. A probe or a
// reader of metrics gets only ids, unless its headers name a trace. `route` is null if the path has none.
std::shared_ptr<RequestTrace> begin_trace(Service& service, const net::HttpRequest& request,
                                          const Route* route);

// Keeps the beginning of the body if the settings ask for it. Call it before the body is moved away.
void note_body(const Service& service, Exchange& exchange);

// Writes the line and completes the trace. `route` is null if there was none; `took` is the whole time.
// Neither the line nor the trace has any text of the request or the answer, unless the settings ask for it.
void note_end(const Service& service, const Exchange& exchange, const Route* route, base::Duration took);

}  // namespace kvasir::api

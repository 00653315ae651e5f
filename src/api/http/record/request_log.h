#pragma once

#include <string>

#include "api/http/service/route.h"
#include "api/http/service/service.h"
#include "base/clock.h"

// What remains of a request that has ended: one line in the log and its trace.
namespace kvasir::api {

// Begins the trace of a request, which continues the client's if its headers name one. A probe or a reader of
// metrics has only ids, unless it asks for more in this way. `route` is null if there is none.
std::shared_ptr<RequestTrace> begin_trace(Service& service, const net::HttpRequest& request,
                                          const Route* route);

// Keeps the beginning of the body where the settings ask for it. Call it before the body is moved.
void note_body(const Service& service, Exchange& exchange);

// Writes the line and completes the trace. `route` is null if there was none; `took` is the whole time.
// Neither has a word of the request's or the answer's text, unless the settings ask for it.
void note_end(const Service& service, const Exchange& exchange, const Route* route, base::Duration took);

}  // namespace kvasir::api

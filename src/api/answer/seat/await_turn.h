#pragma once

#include <boost/asio/awaitable.hpp>

#include "api/answer/admit/start.h"
#include "api/answer/write/outlet.h"

// Admission by goodput: a request runs if its worker expects to serve it within its SLO.
namespace kvasir::api {

// How fast the job's worker expects to serve it now.
wire::Forecast forecast_of(const Job& job, const Place& place);

// Whether the job's worker expects to serve it within its SLO if it starts now, and no request waits before
// it. Notes the forecast in the place.
bool may_start_now(Service& service, const Asker& asker, const Job& job, Place& place);

// Waits until the worker can serve the job within its SLO, for as long as the caller's tier allows. The error
// says that the server is overloaded, how late it would be, and when to try again.
boost::asio::awaitable<base::Status> await_turn(Service& service, Outlet& out, const Asker& asker,
                                                const Job& job, Place& place);

}  // namespace kvasir::api

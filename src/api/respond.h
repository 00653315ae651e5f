#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>

#include "api/generate_params.h"
#include "api/generation.h"
#include "api/response_shape.h"
#include "api/service.h"

namespace kvasir::api {

// A request that only has to be run.
struct PreparedRequest {
  GenerateParams params;
  Job job;
};

// Admits the request, runs it, and writes its answer in the endpoint's shape, streamed or whole. The end of
// the client is the end of the request.
boost::asio::awaitable<void> run_and_respond(Service& service, Exchange& exchange, PreparedRequest request,
                                             const AnswerKind& kind);

}  // namespace kvasir::api

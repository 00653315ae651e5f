#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string_view>

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

// An endpoint's own part: from the bytes of a body to what the engine is to run. JSON and text end in it.
using Prepare = base::Result<PreparedRequest> (*)(Service& service, std::string_view body);

// Prepares the request away from the I/O threads, admits and runs it, and writes its answer in the endpoint's
// shape, streamed or whole. The end of the client is the end of the request.
boost::asio::awaitable<void> respond(Service& service, Exchange& exchange, Prepare prepare,
                                     const AnswerKind& kind);

}  // namespace kvasir::api

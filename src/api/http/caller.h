#pragma once

#include "net/http_message.h"
#include "tenancy/caller.h"
#include "wire/generate_request.h"

namespace kvasir::api {

struct Exchange;

// Who makes the request. Uses only the headers, so it is known before the body is read.
tenancy::Caller caller_of(const net::HttpRequest& head);

// Whose work a job is: for admission, metering and the engines' logs.
struct Asker {
  tenancy::Caller caller;
  std::string request_id;
  int num_requests = 1;  // 0: the job is part of a request that was counted
};
Asker asker_of(const Exchange& exchange);

// The same for work that belongs to a request but is not the whole of it: a summary, a later tool round.
Asker part_of(Asker asker);

// The origin that engines get with a request. Prefixes are shared within a flow.
wire::Origin origin_of(const Asker& asker);

}  // namespace kvasir::api

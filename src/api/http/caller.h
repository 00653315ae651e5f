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
};
Asker asker_of(const Exchange& exchange);

// The origin that engines get with a request. Prefixes are shared within a flow.
wire::Origin origin_of(const Asker& asker);

}  // namespace kvasir::api

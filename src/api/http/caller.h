#pragma once

#include "net/http_message.h"
#include "tenancy/caller.h"
#include "wire/generate_request.h"

namespace kvasir::api {

struct Exchange;

// Who asks, by the headers alone: known before a body is read.
tenancy::Caller caller_of(const net::HttpRequest& head);

// Whose work a job is: for admission, metering and the engines' logs.
struct Asker {
  tenancy::Caller caller;
  std::string request_id;
};
Asker asker_of(const Exchange& exchange);

// What the engines are told of it. Prefixes are shared inside a flow.
wire::Origin origin_of(const Asker& asker);

}  // namespace kvasir::api

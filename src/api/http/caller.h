#pragma once

#include "net/http_message.h"
#include "tenancy/tenant.h"
#include "wire/generate_request.h"

namespace kvasir::api {

struct Exchange;

// Who makes the request. Uses only the headers, so it is known before the body is read.
tenancy::Tenant caller_of(const net::HttpRequest& head);

// The origin that engines get with a request. Prefixes are shared within a tenant.
wire::Origin origin_of(const tenancy::Tenant& tenant, std::string request_id);
wire::Origin origin_of(const Exchange& exchange);

}  // namespace kvasir::api

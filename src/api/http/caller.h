#pragma once

#include "net/http_message.h"
#include "tenancy/tenant.h"
#include "wire/generate_request.h"

namespace kvasir::api {

struct Exchange;

// Who asks, by the headers alone: known before a body is read.
tenancy::Tenant caller_of(const net::HttpRequest& head);

// What the engines are told of a request's origin. Prefixes are shared inside a tenant.
wire::Origin origin_of(const tenancy::Tenant& tenant, std::string request_id);
wire::Origin origin_of(const Exchange& exchange);

}  // namespace kvasir::api

#include "api/http/caller.h"

#include <utility>

#include "api/http/service.h"

namespace kvasir::api {

tenancy::Tenant caller_of(const net::HttpRequest&) {
  return tenancy::anonymous();  // there are no API keys yet
}

wire::Origin origin_of(const tenancy::Tenant& tenant, std::string request_id) {
  return {.request_id = std::move(request_id),
          .tenant = tenant.name,
          .weight = tenant.weight,
          .cache_namespace = tenant.name};
}

wire::Origin origin_of(const Exchange& exchange) {
  return origin_of(exchange.tenant, exchange.id);
}

}  // namespace kvasir::api

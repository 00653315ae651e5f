#include "api/http/caller.h"

#include "api/http/service.h"

namespace kvasir::api {

tenancy::Caller caller_of(const net::HttpRequest&) {
  return tenancy::anonymous();  // there are no API keys yet
}

Asker asker_of(const Exchange& exchange) {
  return {exchange.caller, exchange.id};
}

Asker part_of(Asker asker) {
  asker.num_requests = 0;
  return asker;
}

wire::Origin origin_of(const Asker& asker) {
  return {.request_id = asker.request_id,
          .tenant = asker.caller.flow,
          .weight = asker.caller.tier->weight,
          .cache_namespace = asker.caller.flow};
}

}  // namespace kvasir::api

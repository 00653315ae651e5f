#pragma once

#include <memory>
#include <string>

#include "api/http/record/request_meter.h"
#include "base/result.h"
#include "net/http_message.h"
#include "router/router.h"
#include "tenancy/caller.h"
#include "tenancy/directory.h"
#include "wire/generate_request.h"

namespace kvasir::api {

struct Exchange;
struct Service;
enum class Scope;

// Finds out from the headers alone, before a body is read, who asks. unauthenticated: the request has no
// valid key and needs one. forbidden: its key or its address does not allow this scope. Errors never reveal a
// key.
base::Result<tenancy::Caller> caller_of(const tenancy::Directory& directory, const net::HttpRequest& head,
                                        Scope scope);

// Gives a caller without a key the tier that the options have for it.
void set_anonymous_tier(const Service& service, tenancy::Caller& caller);

// The caller for whom a job works, as admission, metering and the engines' logs need to know it.
struct Asker {
  tenancy::Caller caller;
  std::string request_id;
  std::shared_ptr<RequestMeter> meter;  // never null
  int num_requests = 1;                 // 0: the job is part of a request that was counted
  bool explains_route = false;          // the caller asked why its worker was chosen
};
// `work` names the request and its endpoint.
Asker make_asker(const Service& service, tenancy::Caller caller, meter::UsageRecord work,
                 std::shared_ptr<RequestTrace> trace);
// Makes an asker with a new meter. Parts of a request that share a usage record share one asker.
Asker asker_of(const Service& service, const Exchange& exchange,
               meter::UsageRecord::Kind kind = meter::UsageRecord::Kind::request);

// Returns the asker for a part of its request: a summary, or a later tool round.
Asker part_of(Asker asker);

// The models that the caller may use, and how much of their context. The caller outlives the result.
router::Reach reach_of(const tenancy::Caller& caller);

// The data about the asker that the engines get. Cached prefixes are shared inside a flow.
wire::Origin origin_of(const Asker& asker);

}  // namespace kvasir::api

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "config/tier_config.h"

namespace kvasir::tenancy {

using Tier = config::TierConfig;

// Who makes a request. A value that may be copied and kept after the request.
struct Caller {
  std::string tenant;  // owner of the records that the request stores
  // Has one share of the server: the tenant, or the client's address if no key is needed.
  std::string flow;
  std::string key;                                             // the key's id; empty if no key was shown
  std::shared_ptr<const Tier> tier;                            // never null
  std::shared_ptr<const std::string> system_prompt = nullptr;  // goes before that of a chat; null: none
};

// Every caller while no key is needed.
Caller anonymous();
// As `anonymous`, but each client address has its own share. For IPv6 only the first 64 bits count, since one
// customer has all addresses of a /64.
Caller anonymous_at(std::string_view address);

// A caller without limits. Its share is the tenant's.
Caller caller_of_tenant(std::string tenant);

}  // namespace kvasir::tenancy

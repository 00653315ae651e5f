#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "config/tier_config.h"

namespace kvasir::tenancy {

using Tier = config::TierConfig;

// Who asks. A value: it may be copied into whatever outlives the request.
struct Caller {
  std::string tenant;  // owns what is stored
  std::string
      flow;  // has one share of the server: the tenant, or the client's address where nobody needs a key
  std::string key;                                             // the key's id; empty: none was shown
  std::shared_ptr<const Tier> tier;                            // never null
  std::shared_ptr<const std::string> system_prompt = nullptr;  // before that of its chats; null: none
};

// Everybody, as long as nobody needs a key.
Caller anonymous();
// The same, with a share for each address that asks: of IPv6 the first 64 bits, which are one customer's.
Caller anonymous_at(std::string_view address);

// A caller without limits whose share is the tenant's.
Caller caller_of_tenant(std::string tenant);

}  // namespace kvasir::tenancy

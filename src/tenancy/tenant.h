#pragma once

#include <string>

namespace kvasir::tenancy {

// Who makes a request. A value: it may be copied into whatever outlives the request.
struct Tenant {
  std::string name;
  int weight = 1;  // share of the server relative to other tenants, at least 1
};

// The tenant of all requests, since there are no API keys yet.
inline Tenant anonymous() {
  return Tenant{.name = "anonymous"};
}

}  // namespace kvasir::tenancy

#pragma once

#include <string>

namespace kvasir::tenancy {

// Whose request it is. A value: it may be copied into whatever outlives the request.
struct Tenant {
  std::string name;
  int weight = 1;  // share of the server against the others', at least 1
};

// Everybody, as long as nobody shows a key.
inline Tenant anonymous() {
  return Tenant{.name = "anonymous"};
}

}  // namespace kvasir::tenancy

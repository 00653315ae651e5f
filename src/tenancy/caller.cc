#include "tenancy/caller.h"

#include <utility>

namespace kvasir::tenancy {

namespace {

std::shared_ptr<const Tier> unlimited_tier() {
  static const auto tier = std::make_shared<const Tier>(Tier{.name = "unlimited"});
  return tier;
}

}  // namespace

Caller anonymous() {
  return caller_of_tenant("anonymous");
}

Caller caller_of_tenant(std::string tenant) {
  Caller caller{.tenant = std::move(tenant), .tier = unlimited_tier()};
  caller.flow = caller.tenant;
  return caller;
}

}  // namespace kvasir::tenancy

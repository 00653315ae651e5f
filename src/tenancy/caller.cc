#include "tenancy/caller.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <utility>

namespace kvasir::tenancy {

namespace {

std::shared_ptr<const Tier> unlimited_tier() {
  static const auto tier = std::make_shared<const Tier>(Tier{.name = "unlimited"});
  return tier;
}

constexpr std::array<unsigned char, 12> kMappedV4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

// "2001:db8:1:2:3::4" → "2001:db8:1:2::/64", "::ffff:1.2.3.4" → "1.2.3.4"; other addresses do not change.
std::string network_of(const std::string& address) {
  std::array<unsigned char, 16> bytes{};
  if (::inet_pton(AF_INET6, address.c_str(), bytes.data()) != 1) return address;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (std::equal(kMappedV4.begin(), kMappedV4.end(), bytes.begin()))
    return ::inet_ntop(AF_INET, &bytes[12], text.data(), text.size());
  std::fill(bytes.begin() + 8, bytes.end(), 0);
  return std::string(::inet_ntop(AF_INET6, bytes.data(), text.data(), text.size())) + "/64";
}

}  // namespace

Caller anonymous() {
  return caller_of_tenant("anonymous");
}

Caller anonymous_at(std::string_view address) {
  Caller caller = anonymous();
  // A link-local address ends with the name of the interface.
  caller.flow = "address:" + network_of(std::string(address.substr(0, address.find('%'))));
  return caller;
}

Caller caller_of_tenant(std::string tenant) {
  Caller caller{.tenant = std::move(tenant), .tier = unlimited_tier()};
  caller.flow = caller.tenant;
  return caller;
}

}  // namespace kvasir::tenancy

#include "router/policy.h"

#include "base/check.h"

namespace kvasir::router {

std::unique_ptr<Policy> make_policy(std::string_view name, std::uint64_t seed) {
  if (name == "cache") return make_cache_policy(seed);
  if (name == "least_loaded") return make_least_loaded_policy(seed);
  if (name == "round_robin") return make_round_robin_policy();
  CHECK(name == "random", "no policy {}", name);
  return make_random_policy(seed);
}

}  // namespace kvasir::router

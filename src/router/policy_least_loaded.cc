#include "router/dice.h"
#include "router/policy.h"

namespace kvasir::router {

namespace {

// Picks the member with the fewest requests, or a random one of several such members.
class LeastLoaded final : public Policy {
 public:
  explicit LeastLoaded(std::uint64_t seed) : dice_(seed) {}
  std::string_view name() const override { return "least_loaded"; }
  Choice choose(std::span<const Candidate> candidates, const Demand&) override {
    std::size_t best = 0;
    int num_best = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (num_best > 0 && candidates[i].load > candidates[best].load) continue;
      num_best = num_best > 0 && candidates[i].load == candidates[best].load ? num_best + 1 : 1;
      if (dice_.below(static_cast<std::size_t>(num_best)) == 0) best = i;
    }
    return {.index = best, .route = {.num_near = num_best}};
  }

 private:
  Dice dice_;
};

}  // namespace

std::unique_ptr<Policy> make_least_loaded_policy(std::uint64_t seed) {
  return std::make_unique<LeastLoaded>(seed);
}

}  // namespace kvasir::router

#include "router/dice.h"
#include "router/policy.h"

namespace kvasir::router {

namespace {

class Random final : public Policy {
 public:
  explicit Random(std::uint64_t seed) : dice_(seed) {}
  std::string_view name() const override { return "random"; }
  Choice choose(std::span<const Candidate> candidates, const Demand&) override {
    return {.index = dice_.below(candidates.size())};
  }

 private:
  Dice dice_;
};

}  // namespace

std::unique_ptr<Policy> make_random_policy(std::uint64_t seed) {
  return std::make_unique<Random>(seed);
}

}  // namespace kvasir::router

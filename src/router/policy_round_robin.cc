#include <atomic>

#include "router/policy.h"

namespace kvasir::router {

namespace {

class RoundRobin final : public Policy {
 public:
  std::string_view name() const override { return "round_robin"; }
  Choice choose(std::span<const Candidate> candidates, const Demand&) override {
    return {.index = turn_.fetch_add(1, std::memory_order_relaxed) % candidates.size()};
  }

 private:
  std::atomic<std::size_t> turn_{0};
};

}  // namespace

std::unique_ptr<Policy> make_round_robin_policy() {
  return std::make_unique<RoundRobin>();
}

}  // namespace kvasir::router

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "router/demand.h"
#include "router/member.h"
#include "router/route.h"

namespace kvasir::router {

// A member as one pick sees it.
struct Candidate {
  const WorkerMember* member = nullptr;
  int num_cached = 0;       // tokens of the prompt in its cache, as far as it has told
  int load = 0;             // requests that it has, with those that it has not yet reported
  int num_running = 0;      // of those that it has reported
  int num_waiting = 0;      // likewise
  int num_blocks = 0;       // of its cache; 0: not known
  int num_free_blocks = 0;  // free or holding only cached prefixes
  // Of the workers that have computed prompts for it; null: it has told nothing of them.
  std::shared_ptr<const std::vector<wire::KvLink>> kv_links = nullptr;
  bool rests = false;  // its blocks keep failing: it gets no prompts that others answer
};

// The time that a member computes a prompt of which it holds so many tokens.
inline double own_prefill_s(const wire::Forecast& forecast, const wire::Outline& outline, int num_cached) {
  const double prompt = static_cast<double>(std::max<std::int64_t>(1, outline.num_prompt_tokens));
  return forecast.alone.ttft_s * std::max(0.0, 1 - num_cached / prompt);
}

struct Choice {
  std::size_t index = 0;
  Route route = {};
};

// Decides which member gets a request. Thread-safe.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view name() const = 0;
  // Whether it needs to know which member holds what.
  virtual bool wants_blocks() const { return false; }
  // There are two candidates at least. The choice's route tells what is special to the policy; the caller
  // adds the rest.
  virtual Choice choose(std::span<const Candidate> candidates, const Demand& demand) = 0;
};

// The policy with this name: cache, least_loaded, round_robin or random. Another name is a bug.
std::unique_ptr<Policy> make_policy(std::string_view name, std::uint64_t seed);

std::unique_ptr<Policy> make_cache_policy(std::uint64_t seed);
std::unique_ptr<Policy> make_least_loaded_policy(std::uint64_t seed);
std::unique_ptr<Policy> make_round_robin_policy();
std::unique_ptr<Policy> make_random_policy(std::uint64_t seed);

}  // namespace kvasir::router

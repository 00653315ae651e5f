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

// A member's state during one pick.
struct Candidate {
  const WorkerMember* member = nullptr;
  int num_cached = 0;       // tokens of the prompt in its cache, as far as it has reported
  int load = 0;             // its requests, with those that it has not yet reported
  int num_running = 0;      // requests, as reported
  int num_waiting = 0;      // requests, as reported
  int num_blocks = 0;       // of its cache; 0: not known
  int num_free_blocks = 0;  // free or holding only cached prefixes
  // The links to workers that computed prompts for it; null: it has reported none.
  std::shared_ptr<const std::vector<wire::KvLink>> kv_links = nullptr;
  bool rests = false;  // its blocks keep failing, so it computes no prompts for others now
};

// Seconds that a member needs to compute a prompt of which it holds `num_cached` tokens.
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
  // Whether the policy needs to know which member holds which blocks.
  virtual bool wants_blocks() const { return false; }
  // `candidates` has at least two members. The policy fills in only its own part of the choice's route; the
  // caller adds the rest.
  virtual Choice choose(std::span<const Candidate> candidates, const Demand& demand) = 0;
};

// `name` is cache, least_loaded, round_robin or random; any other name is a bug.
std::unique_ptr<Policy> make_policy(std::string_view name, std::uint64_t seed);

std::unique_ptr<Policy> make_cache_policy(std::uint64_t seed);
std::unique_ptr<Policy> make_least_loaded_policy(std::uint64_t seed);
std::unique_ptr<Policy> make_round_robin_policy();
std::unique_ptr<Policy> make_random_policy(std::uint64_t seed);

}  // namespace kvasir::router

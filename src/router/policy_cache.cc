#include <algorithm>
#include <array>
#include <limits>
#include <ranges>
#include <string>
#include <utility>

#include "kv/block.h"
#include "router/dice.h"
#include "router/policy.h"

namespace kvasir::router {

namespace {

// At most this many members are asked for a forecast, which takes some microseconds each.
constexpr std::size_t kMostForecasts = 4;
// In a rough cost a waiting request counts as one more prompt like this one, and every request of the load as
// this many tokens.
constexpr double kTokensOfRunning = 32;
// Members whose cost is at most this much above the best count as equally good: forecasts are not more exact.
constexpr double kNear = 1.1;
constexpr double kNear_s = 1e-3;
// Computing a prompt delays the requests after it and evicts cached blocks, so its own time is added this
// many times more.
constexpr double kOthers = 1;
// A stream's pace counts as if this many tokens were still to come.
constexpr double kExpectedOutput = 64;

struct Scored {
  std::size_t index = 0;
  double cost = 0;    // seconds, or tokens if a member forecasts nothing
  double ttft_s = 0;  // 0: not known
  double tpot_s = 0;
};

// A short list without duplicates.
class Shortlist {
 public:
  void add(std::size_t index) {
    if (size_ < indices_.size() && std::find(begin(), end(), index) == end()) indices_[size_++] = index;
  }
  const std::size_t* begin() const { return indices_.data(); }
  const std::size_t* end() const { return indices_.data() + size_; }
  std::size_t size() const { return size_; }

 private:
  std::array<std::size_t, kMostForecasts> indices_{};
  std::size_t size_ = 0;
};

// Picks the member that should begin the answer first, given what it holds of the prompt, and continue it at
// a good pace. All members are weighed roughly, and a few of them by their own forecasts.
class CachePolicy final : public Policy {
 public:
  explicit CachePolicy(std::uint64_t seed) : dice_(seed) {}
  std::string_view name() const override { return "cache"; }
  bool wants_blocks() const override { return true; }

  Choice choose(std::span<const Candidate> candidates, const Demand& demand) override {
    const wire::Outline outline = outline_of(demand);
    std::array<Scored, kMostForecasts> scored;
    std::size_t num_scored = 0;
    for (const std::size_t index : shortlist(candidates, outline, demand))
      scored[num_scored++] = score(candidates[index], index, outline, demand);
    const std::span<Scored> all(scored.data(), num_scored);
    settle_costs(candidates, all, outline);
    return decide(candidates, all, demand);
  }

 private:
  static wire::Outline outline_of(const Demand& demand) {
    if (demand.outline != nullptr) return *demand.outline;
    return {.prompt_blocks = &demand.prompt,
            .num_prompt_tokens = static_cast<std::int64_t>(demand.prompt.hashes().size()) * kv::kBlockTokens};
  }

  // A cost in tokens, without a forecast.
  static double rough_cost(const Candidate& one, const wire::Outline& outline) {
    const auto prompt = static_cast<double>(outline.num_prompt_tokens);
    return std::max(0.0, prompt - one.num_cached) + one.num_waiting * std::max(prompt, 1.0) +
           one.load * kTokensOfRunning;
  }

  // The members that may be the best: by rough cost, by cached tokens, and by load. Among equals the
  // preferred one comes first, then a random one, since other gateways choose at the same time.
  Shortlist shortlist(std::span<const Candidate> candidates, const wire::Outline& outline,
                      const Demand& demand) {
    Shortlist list;
    const std::size_t count = candidates.size();
    if (count <= kMostForecasts) {
      for (std::size_t i = 0; i < count; ++i) list.add(i);
      return list;
    }
    const std::size_t start = dice_.below(count);
    const auto add_least = [&](const auto& badness) {
      std::size_t best = start;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t n = 0; n < count; ++n) {
        const std::size_t i = (start + n) % count;
        if (std::find(list.begin(), list.end(), i) != list.end()) continue;
        if (const double bad = badness(candidates[i]); bad < least) {
          least = bad;
          best = i;
        }
      }
      list.add(best);
    };
    const auto roughly = [&](const Candidate& one) { return rough_cost(one, outline); };
    const auto rough = [&](const Candidate& one) {
      return std::pair(rough_cost(one, outline), ~preference(one, demand));
    };
    list.add(static_cast<std::size_t>(std::ranges::min_element(candidates, {}, rough) - candidates.begin()));
    add_least([&](const Candidate& one) { return -one.num_cached * 1e6 + one.load; });
    add_least([&](const Candidate& one) { return one.load * 1e6 - one.num_cached; });
    while (list.size() < kMostForecasts) add_least(roughly);
    return list;
  }

  static Scored score(const Candidate& one, std::size_t index, wire::Outline outline, const Demand& demand) {
    outline.num_cached_tokens = one.num_cached;
    const wire::Forecast forecast = one.member->worker->forecast(outline);
    if (!(forecast.expected.ttft_s > 0)) return {.index = index};
    const double own_s = own_prefill_s(forecast, outline, one.num_cached);
    return {.index = index,
            .cost = forecast.expected.ttft_s + kOthers * own_s + memory_s(one, outline, demand, forecast),
            .ttft_s = forecast.expected.ttft_s,
            .tpot_s = forecast.expected.tpot_s};
  }

  // Brings all costs into one unit: tokens if a member forecasts nothing, else seconds. Only differences in
  // pace count, since the pace that all members share would hide the other differences.
  static void settle_costs(std::span<const Candidate> candidates, std::span<Scored> all,
                           const wire::Outline& outline) {
    if (std::ranges::any_of(all, [](const Scored& one) { return one.ttft_s <= 0; })) {
      for (Scored& one : all) one = {.index = one.index, .cost = rough_cost(candidates[one.index], outline)};
      return;
    }
    const double least_s = std::ranges::min(all, {}, &Scored::tpot_s).tpot_s;
    for (Scored& one : all) one.cost += kExpectedOutput * (one.tpot_s - least_s);
  }

  // Seconds to compute again what does not fit into free memory, which this request or another one will have
  // to do.
  static double memory_s(const Candidate& one, const wire::Outline& outline, const Demand& demand,
                         const wire::Forecast& forecast) {
    if (one.num_blocks == 0 || outline.num_prompt_tokens == 0) return 0;
    const double free = double{kv::kBlockTokens} * one.num_free_blocks;
    const double missing = static_cast<double>(demand.num_tokens - one.num_cached) - free;
    return std::max(0.0, missing) * forecast.alone.ttft_s / static_cast<double>(outline.num_prompt_tokens);
  }

  Choice decide(std::span<const Candidate> candidates, std::span<const Scored> all, const Demand& demand) {
    const double least = std::ranges::min(all, {}, &Scored::cost).cost;
    std::array<const Scored*, kMostForecasts> near{};
    std::size_t num_near = 0;
    for (const Scored& one : all)
      if (one.cost <= least * kNear + (one.ttft_s > 0 ? kNear_s : 0)) near[num_near++] = &one;
    const Scored& best =
        num_near == 1 ? *near[0] : *one_of(candidates, std::span(near.data(), num_near), demand);
    Choice choice{.index = best.index,
                  .route = {.num_near = static_cast<int>(num_near), .expected_ttft_s = best.ttft_s}};
    if (demand.explains) choice.route.scores = scores(candidates, all);
    return choice;
  }

  // Picks the member that requests of this kind prefer, if no other has less load. Otherwise picks the less
  // loaded of two random members: if all gateways took the best one by reports of the same age, they would
  // all pick the same.
  const Scored* one_of(std::span<const Candidate> candidates, std::span<const Scored* const> near,
                       const Demand& demand) {
    const auto load = [&](const Scored* one) { return candidates[one->index].load; };
    const Scored* const preferred = std::ranges::max(
        near, {}, [&](const Scored* one) { return preference(candidates[one->index], demand); });
    if (load(preferred) <= std::ranges::min(near | std::views::transform(load))) return preferred;
    const std::size_t a = dice_.below(near.size());
    const std::size_t b = (a + 1 + dice_.below(near.size() - 1)) % near.size();
    return load(near[b]) < load(near[a]) ? near[b] : near[a];
  }

  // How much requests of this kind prefer the member. All gateways compute the same number.
  static std::uint64_t preference(const Candidate& one, const Demand& demand) {
    return mixed(one.member->id_hash ^ affinity_of(demand));
  }
  static std::uint64_t affinity_of(const Demand& demand) {
    if (demand.affinity != 0) return mixed(demand.affinity);
    return demand.prompt.hashes().empty() ? 0 : demand.prompt.hashes()[0].high;
  }

  static std::string scores(std::span<const Candidate> candidates, std::span<const Scored> all) {
    std::string text;
    for (const Scored& one : all) {
      const Candidate& candidate = candidates[one.index];
      const std::string cost =
          one.ttft_s > 0 ? fmt::format("{:.0f}ms", one.cost * 1e3) : fmt::format("{:.0f}tok", one.cost);
      text += fmt::format("{}{}:{}/cached={}/load={}", text.empty() ? "" : ",", candidate.member->id, cost,
                          candidate.num_cached, candidate.load);
    }
    return text;
  }

  Dice dice_;
};

}  // namespace

std::unique_ptr<Policy> make_cache_policy(std::uint64_t seed) {
  return std::make_unique<CachePolicy>(seed);
}

}  // namespace kvasir::router

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "kv/block_hash.h"

namespace kvasir::wire {

// The facts that decide how long a request takes, known before a worker has it.
struct Outline {
  std::string_view tenant;
  int weight = 1;
  int priority = 0;
  const kv::BlockChain* prompt_blocks = nullptr;  // of the first prompt; null: nothing is cached
  // How many tokens of the first prompt the worker's cache holds, if the caller knows that better than the
  // worker's client. Absent: the client looks it up.
  std::optional<int> num_cached_tokens = std::nullopt;
  std::int64_t num_prompt_tokens = 0;  // of all prompts of the request; choices of one prompt share it
  int num_sequences = 1;
  double slo_ttft_s = 0;  // 0: the model's own SLO
  double slo_tpot_s = 0;
};

// The time to the first token, and the mean time of each further one.
struct Latency {
  double ttft_s = 0;
  double tpot_s = 0;
};

// What a worker expects for a request that comes now. Zeros if the worker does not know.
struct Forecast {
  Latency expected;
  Latency alone;         // on the same device without any other request
  Latency slo;           // the SLO of the request
  bool is_idle = false;  // the worker has nothing else to do

  // The latency that counts as good: the SLO. If the request would miss the SLO even alone, it is a multiple
  // of its time alone, so that a slow machine does not refuse every request.
  Latency limit() const { return {limit_s(slo.ttft_s, alone.ttft_s), limit_s(slo.tpot_s, alone.tpot_s)}; }
  bool is_known() const { return expected.ttft_s > 0 && slo.ttft_s > 0; }

  // Whether to begin with the request. True if it will be good even when first tokens come `caution` times as
  // late as expected, or if it takes hardly longer than alone. An idle worker begins with any request, since
  // waiting gains nothing.
  bool is_within(double caution) const {
    if (!is_known() || is_idle) return true;
    const Latency most = limit();
    const bool is_like_alone = expected.ttft_s <= kLikeAlone * alone.ttft_s;
    return (is_like_alone || expected.ttft_s * caution <= most.ttft_s) && expected.tpot_s <= most.tpot_s;
  }

  // For a request that misses the SLO even alone: how much longer than alone it may take. The planner allows
  // such a prompt more time, too.
  static constexpr double kStretch = 4;
  // For a request that reaches the SLO alone: it may take this much longer than alone, since forecasts are
  // not exact.
  static constexpr double kMargin = 2;
  static constexpr double kLikeAlone = 1.1;
  static double limit_s(double slo_s, double alone_s) {
    if (alone_s > slo_s) return kStretch * alone_s;
    return alone_s * kMargin > slo_s ? alone_s * kMargin : slo_s;
  }
};

}  // namespace kvasir::wire

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "kv/block_hash.h"

namespace kvasir::wire {

// What decides how long a request takes, known before a worker has it.
struct Outline {
  std::string_view tenant;
  int weight = 1;
  int priority = 0;
  const kv::BlockChain* prompt_blocks = nullptr;  // of its first prompt; null: none is cached
  // Of the first prompt, how many tokens the worker's cache holds, where the caller knows it better than the
  // worker's client. Absent: the client looks.
  std::optional<int> num_cached_tokens = std::nullopt;
  std::int64_t num_prompt_tokens = 0;  // of all its prompts; choices of one prompt share it
  int num_sequences = 1;
  double slo_ttft_s = 0;  // 0: the model's own
  double slo_tpot_s = 0;
};

// The time to the first token, and the mean time of each further one.
struct Latency {
  double ttft_s = 0;
  double tpot_s = 0;
};

// What a worker expects of a request, if it came now. Zeros where it does not know.
struct Forecast {
  Latency expected;
  Latency alone;         // on the same device without any other request
  Latency slo;           // what the request should get
  bool is_idle = false;  // the worker has nothing else to do

  // What counts as good: the SLO, or, for a request that would miss it even alone, some times what it takes
  // alone, so that a slow machine refuses nobody who comes to it by himself.
  Latency limit() const { return {limit_s(slo.ttft_s, alone.ttft_s), limit_s(slo.tpot_s, alone.tpot_s)}; }
  bool is_known() const { return expected.ttft_s > 0 && slo.ttft_s > 0; }

  // Whether to begin with it: it will be good, if first tokens may come `caution` times as late as expected,
  // or it takes hardly longer than alone. A worker with nothing to do begins with anything: it gets no better
  // by waiting.
  bool is_within(double caution) const {
    if (!is_known() || is_idle) return true;
    const Latency most = limit();
    const bool is_like_alone = expected.ttft_s <= kLikeAlone * alone.ttft_s;
    return (is_like_alone || expected.ttft_s * caution <= most.ttft_s) && expected.tpot_s <= most.tpot_s;
  }

  // Others may slow a request down so much that it misses the SLO by itself; the planner takes its time for
  // such a prompt too.
  static constexpr double kStretch = 4;
  // What a request that reaches the SLO alone may take beyond what it takes alone: a forecast is not exact.
  static constexpr double kMargin = 2;
  static constexpr double kLikeAlone = 1.1;
  static double limit_s(double slo_s, double alone_s) {
    if (alone_s > slo_s) return kStretch * alone_s;
    return alone_s * kMargin > slo_s ? alone_s * kMargin : slo_s;
  }
};

}  // namespace kvasir::wire

#pragma once

#include <optional>
#include <span>

#include "base/clock.h"
#include "router/policy.h"
#include "wire/forecast.h"

namespace kvasir::router {

// Another member that is to compute a prompt's KV.
struct PrefillChoice {
  std::size_t index = 0;  // among the helpers
  double ttft_s = 0;      // to the first token, by way of it
  double own_s = 0;       // that it computes
  double patience_s = 0;  // after so long the member that answers should compute the rest itself
};

// Whether `decoder` gets the prompt's KV from one of the helpers, and from which: where its own forecast,
// and what computing would cost the streams that it runs, are more than the best helper's forecast and the
// way of the blocks, and the first token does not miss its SLO only because of that way. Absent: it computes
// by itself, as it does with short prompts and cached ones.
std::optional<PrefillChoice> choose_prefill(const Candidate& decoder, std::span<const Candidate> helpers,
                                            const wire::Outline& outline, base::TimePoint now);

}  // namespace kvasir::router

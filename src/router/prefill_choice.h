#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "router/policy.h"
#include "wire/forecast.h"

namespace kvasir::router {

// When prompts go to another member: where that is expected to be faster, or whenever it is possible.
enum class PrefillRule : std::uint8_t { forecast, always, never };
// "forecast", "always" or "never"; another name is a bug.
PrefillRule prefill_rule_named(std::string_view name);

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
// by itself, as it does with short prompts and cached ones. By the rule `always` only those stay, and the
// best helper gets the others.
std::optional<PrefillChoice> choose_prefill(PrefillRule rule, const Candidate& decoder,
                                            std::span<const Candidate> helpers, const wire::Outline& outline,
                                            base::TimePoint now);

}  // namespace kvasir::router

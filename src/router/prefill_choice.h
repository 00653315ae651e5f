#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "router/policy.h"
#include "wire/forecast.h"

namespace kvasir::router {

// When another member computes a prompt: if that should be faster, whenever it is possible, or never.
enum class PrefillRule : std::uint8_t { forecast, always, never };
// "forecast", "always" or "never"; another name is a bug.
PrefillRule prefill_rule_named(std::string_view name);

// The other member that computes a prompt's KV.
struct PrefillChoice {
  std::size_t index = 0;  // among the helpers
  double ttft_s = 0;      // forecast to the first token, by way of the helper
  double own_s = 0;       // seconds that the helper computes the prompt
  double patience_s = 0;  // after this time the member that answers computes the rest itself
};

// Decides whether `decoder` gets the prompt's KV from one of the helpers, and from which. By the rule
// `forecast` it does if its own forecast, and the delay of the streams that it runs, are more than the best
// helper's forecast and the transfer of the blocks, and if the detour alone does not make the first token
// miss its SLO. By the rule `always` the best helper computes every prompt but short and cached ones. Absent:
// the decoder computes the prompt itself.
std::optional<PrefillChoice> choose_prefill(PrefillRule rule, const Candidate& decoder,
                                            std::span<const Candidate> helpers, const wire::Outline& outline,
                                            base::TimePoint now);

}  // namespace kvasir::router

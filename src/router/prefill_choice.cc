#include "router/prefill_choice.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "kv/block.h"
#include "wire/worker_report.h"

namespace kvasir::router {

namespace {

// A forecast takes some microseconds, so at most this many helpers are asked for one.
constexpr std::size_t kMostForecasts = 4;
// Seconds that asking another worker takes.
constexpr double kAsk_s = 5e-3;
// While a worker computes a prompt, each of its streams waits. At most this many streams are counted, so that
// a busy worker does not make a prompt wait ever longer for a helper.
constexpr int kMostStreams = 4;
// A forecast is not exact, so patience is this many times the forecast, and this much more.
constexpr double kPatience = 3;
constexpr double kLeastPatience_s = 1;

double tokens_left(const Candidate& one, const wire::Outline& outline) {
  return std::max(0.0, static_cast<double>(outline.num_prompt_tokens - one.num_cached));
}

double bytes_per_s(const Candidate& decoder, const std::string& address) {
  if (decoder.kv_links)
    for (const wire::KvLink& link : *decoder.kv_links)
      if (link.address == address) return link.bytes_per_s;
  return wire::kSupposedBytesPerS;
}

// Seconds that the transfer of a prompt's blocks adds. Blocks travel while later ones are computed.
double travel_s(const Candidate& decoder, const Candidate& helper, double num_tokens, double computed_s) {
  const double num_bytes = num_tokens / kv::kBlockTokens * static_cast<double>(helper.member->kv.num_bytes);
  const double all_s = num_bytes / bytes_per_s(decoder, helper.member->address);
  return std::max(all_s - computed_s, all_s / 4);
}

wire::Forecast forecast_of(const Candidate& one, wire::Outline outline) {
  outline.num_cached_tokens = one.num_cached;
  return one.member->worker->forecast(outline);
}

// The helpers that are worth a forecast: those with the least to do, and of these the ones that hold most of
// the prompt.
std::vector<std::size_t> shortlist(const Candidate& decoder, std::span<const Candidate> helpers) {
  std::vector<std::size_t> able;
  for (std::size_t i = 0; i < helpers.size(); ++i)
    if (!helpers[i].rests && !helpers[i].member->kv.name.empty() &&
        helpers[i].member->kv == decoder.member->kv)
      able.push_back(i);
  if (able.size() <= kMostForecasts) return able;
  std::ranges::nth_element(able, able.begin() + kMostForecasts, {},
                           [&](std::size_t i) { return std::pair(helpers[i].load, -helpers[i].num_cached); });
  able.resize(kMostForecasts);
  return able;
}

}  // namespace

PrefillRule prefill_rule_named(std::string_view name) {
  CHECK(name == "forecast" || name == "always" || name == "never", "no rule is called '{}'", name);
  return name == "forecast" ? PrefillRule::forecast
         : name == "always" ? PrefillRule::always
                            : PrefillRule::never;
}

std::optional<PrefillChoice> choose_prefill(PrefillRule rule, const Candidate& decoder,
                                            std::span<const Candidate> helpers, const wire::Outline& outline,
                                            base::TimePoint now) {
  const double num_left = tokens_left(decoder, outline);
  if (rule == PrefillRule::never || outline.num_sequences != 1 || num_left < wire::kLeastLongPrompt)
    return std::nullopt;
  const wire::Forecast here = forecast_of(decoder, outline);
  if (!(here.expected.ttft_s > 0)) return std::nullopt;
  const double own_s = own_prefill_s(here, outline, decoder.num_cached);
  const double together_s = here.expected.ttft_s + own_s * std::min(decoder.num_running, kMostStreams);
  std::optional<PrefillChoice> best;
  for (const std::size_t i : shortlist(decoder, helpers)) {
    const Candidate& helper = helpers[i];
    const wire::Forecast there = forecast_of(helper, outline);
    if (!(there.expected.ttft_s > 0)) continue;
    const double computed_s = own_prefill_s(there, outline, helper.num_cached);
    const double ttft_s = there.expected.ttft_s + helper.member->sent_prefills.sum_s(now) + kAsk_s +
                          travel_s(decoder, helper, num_left, computed_s);
    if (best && best->ttft_s <= ttft_s) continue;
    best = {.index = i,
            .ttft_s = ttft_s,
            .own_s = computed_s,
            .patience_s = kPatience * ttft_s + kLeastPatience_s};
  }
  if (rule == PrefillRule::always) return best;
  if (!best || best->ttft_s >= together_s) return std::nullopt;
  const double most_s = here.limit().ttft_s;
  if (best->ttft_s > most_s && here.expected.ttft_s <= most_s) return std::nullopt;
  return best;
}

}  // namespace kvasir::router

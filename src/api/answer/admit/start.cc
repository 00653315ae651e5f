#include "api/answer/admit/start.h"

#include <utility>

#include "api/answer/admit/reservation.h"
#include "api/answer/run/client_error.h"
#include "router/dice.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// A job with more sequences than the queue holds could never run, so it gets a 400 and not a 429.
base::Status check_num_sequences(const Job& job, int at_most) {
  if (job.sequences.size() <= static_cast<std::size_t>(at_most)) return base::ok();
  const char* field = job.num_kept > 1 ? "n" : job.num_sampled > 1 ? "best_of" : "prompt";
  return Error{ErrorCode::invalid_argument,
               fmt::format("the request asks for {} answers at once, this server gives at most {}",
                           job.sequences.size(), at_most),
               field, "invalid_value"};
}

void note_route(const router::WorkerLease& lease, obs::SpanScope& span) {
  const router::Route& route = lease.route();
  if (route.prefill) span.note("kvasir.route.prefill", route.prefill_member);
  if (route.num_members == 1) return;
  span.note("kvasir.route.member", lease.member());
  span.note("kvasir.route.policy", route.policy);
  span.note("kvasir.route.members", route.num_members);
  span.note("kvasir.route.near", route.num_near);
  span.note("kvasir.route.cached_tokens", route.num_cached);
  span.note("kvasir.route.load", route.load);
  if (route.expected_ttft_s > 0) span.note("kvasir.route.expected_ttft_s", route.expected_ttft_s);
  if (!route.scores.empty()) span.note("kvasir.route.scores", route.scores);
}

// A client's affinity key is mixed with its cache namespace, so equal keys of two tenants differ.
std::uint64_t affinity_of(const Job& job) {
  if (job.affinity == 0) return 0;
  return router::mixed(job.affinity ^ router::hash_of(job.sequences.front().origin.cache_namespace));
}

Promise promise_of(const tenancy::Tier& tier) {
  return {.ttft_s = tier.slo_ttft_ms / 1000.0, .tpot_s = tier.slo_tpot_ms / 1000.0};
}

}  // namespace

wire::Outline outline_of(const Job& job, const kv::BlockChain& blocks) {
  const wire::GenerateRequest& first = job.sequences.front();
  wire::Outline outline{.tenant = first.origin.tenant,
                        .weight = first.origin.weight,
                        .priority = first.priority,
                        .prompt_blocks = &blocks,
                        .num_sequences = static_cast<int>(job.sequences.size()),
                        .slo_ttft_s = first.slo_ttft_s,
                        .slo_tpot_s = first.slo_tpot_s};
  for (std::size_t i = 0; i < job.sequences.size(); i += static_cast<std::size_t>(job.num_sampled))
    outline.num_prompt_tokens += static_cast<std::int64_t>(job.sequences[i].prompt.size());
  return outline;
}

Result<Place> admit(Service& service, const Asker& asker, Job& job) {
  TRY_OK(check_num_sequences(job, service.options.max_sequences));
  const wire::Origin origin = origin_of(asker);
  const tenancy::Tier& tier = *asker.caller.tier;
  for (wire::GenerateRequest& sequence : job.sequences) {
    sequence.origin = origin;
    sequence.priority = job.base_priority + tier.priority;  // a client cannot set it
    sequence.slo_ttft_s = tier.slo_ttft_ms / 1e3;
    sequence.slo_tpot_s = tier.slo_tpot_ms / 1e3;
  }
  const tenancy::Cost cost = cost_of(job, asker);
  obs::Trace& spans = *asker.meter->trace()->spans;
  obs::SpanScope admission(spans, "admission");
  TRY(tenancy::Permit permit, service.admission.enter(asker.caller, cost));
  if (permit.tokens() < cost.tokens) fit_to_grant(permit.tokens(), job);
  const wire::GenerateRequest& first = job.sequences.front();
  kv::BlockChain blocks({origin.cache_namespace, first.num_public_tokens});
  blocks.extend(first.prompt);
  admission.end();
  obs::SpanScope route(spans, "route");
  route.note("gen_ai.request.model", job.text->name);
  const wire::Outline outline = outline_of(job, blocks);
  TRY(router::WorkerLease lease, service.router.pick(*job.text, {.prompt = blocks,
                                                                 .num_tokens = permit.tokens(),
                                                                 .outline = &outline,
                                                                 .affinity = affinity_of(job),
                                                                 .explains = asker.explains_route}));
  note_route(lease, route);
  return Place{std::move(permit), std::move(lease), std::move(blocks), asker.meter,
               promise_of(*asker.caller.tier)};
}

Result<std::unique_ptr<Generation>> start(Service& service, Place place, Job job,
                                          const boost::asio::any_io_executor& executor) {
  ModelMetrics& metrics = service.metrics.of_model(job.text->name);
  sched::Caution& caution = service.cautions.of(job.text->name);
  auto itinerary = std::make_shared<router::Itinerary>(service.router, job.text, std::move(place.lease),
                                                       place.permit.tokens(), affinity_of(job));
  if (job.is_private) itinerary->keep_private();
  auto generation =
      Generation::start(std::move(job), std::move(place.permit), std::move(itinerary),
                        {executor, service.clock, metrics, caution, std::move(place.meter), place.promise});
  if (!generation.ok()) return as_client_error(std::move(generation).error());
  return generation;
}

Result<std::unique_ptr<Generation>> start(Service& service, const Asker& asker, Job job,
                                          const boost::asio::any_io_executor& executor) {
  TRY(Place place, admit(service, asker, job));
  return start(service, std::move(place), std::move(job), executor);
}

}  // namespace kvasir::api

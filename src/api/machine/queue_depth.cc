#include "api/machine/queue_depth.h"

#include <algorithm>
#include <string>

namespace kvasir::api {

std::map<int, int> queue_of(const Service& service, const router::ModelStatus& model) {
  std::map<int, int> counts = service.lobby.waiting(model.name);
  for (const tenancy::Tier& tier : service.directory.tiers()) counts.try_emplace(tier.priority, 0);
  if (model.report)
    for (const auto& [priority, num] : model.report->waiting) counts[priority] += num;
  return counts;
}

namespace {

using PoolFailures = router::Router::PoolFailures;

// Shows how many answers were computed twice, and how many of those had two different results.
void observe_trust(obs::Registry& registry, const auto& samples_of,
                   std::vector<obs::Observation>& observations) {
  observations.push_back(registry.observe_counters(
      {"llm_quality_checks_total", "Answers that another worker has computed again."}, {}, [samples_of] {
        return samples_of([](const router::ModelStatus& model, const PoolFailures& failures,
                             std::vector<obs::Sample>& samples) {
          samples.emplace_back(obs::Labels{{"model", model.name}},
                               static_cast<double>(failures.trust.num_checks()));
        });
      }));
  observations.push_back(registry.observe_counters(
      {"llm_quality_disagreement_total",
       "Of these, those with another result, by the worker that was wrong."},
      {}, [samples_of] {
        return samples_of([](const router::ModelStatus& model, const PoolFailures& failures,
                             std::vector<obs::Sample>& samples) {
          auto counts = failures.trust.disagreements();
          counts.try_emplace(std::string(router::Trust::kUndecided), 0);
          for (const router::MemberStatus& member : model.members) counts.try_emplace(member.id, 0);
          for (const auto& [member, count] : counts)
            samples.emplace_back(obs::Labels{{"model", model.name}, {"member", member}},
                                 static_cast<double>(count));
        });
      }));
  observations.push_back(registry.observe_gauges(
      {"llm_members_distrusted", "Workers that get no requests since several of their answers were wrong."},
      {}, [samples_of] {
        return samples_of([](const router::ModelStatus& model, const PoolFailures& failures,
                             std::vector<obs::Sample>& samples) {
          samples.emplace_back(obs::Labels{{"model", model.name}},
                               static_cast<double>(failures.trust.num_distrusted()));
        });
      }));
}

}  // namespace

std::vector<obs::Observation> observe_service(obs::Registry& registry, const Service& service) {
  std::vector<obs::Observation> observations;
  observations.push_back(registry.observe_gauges(
      {"llm_queue_depth", "Requests that wait at the door or for a place in the batch."}, {}, [&service] {
        std::vector<obs::Sample> samples;
        for (const router::ModelStatus& model : service.router.models()) {
          if (!model.report) continue;
          for (const auto& [priority, num] : queue_of(service, model))
            samples.emplace_back(obs::Labels{{"model", model.name}, {"priority", std::to_string(priority)}},
                                 num);
        }
        return samples;
      }));
  const auto samples_of = [&service](const auto& add) {
    std::vector<obs::Sample> samples;
    for (const router::ModelStatus& model : service.router.models())
      if (const auto failures = service.router.failures(model.name))
        if (!model.members.empty()) add(model, *failures, samples);
    return samples;
  };
  observations.push_back(registry.observe_counters(
      {"llm_failovers_total", "Sequences whose worker was lost, by what became of them."}, {}, [samples_of] {
        return samples_of([](const router::ModelStatus& model, const router::Router::PoolFailures& failures,
                             std::vector<obs::Sample>& samples) {
          for (std::size_t i = 0; i < router::kNumFailoverOutcomes; ++i) {
            const auto outcome = static_cast<router::FailoverOutcome>(i);
            samples.emplace_back(
                obs::Labels{{"model", model.name}, {"outcome", std::string(name_of(outcome))}},
                static_cast<double>(failures.failovers.of(outcome)));
          }
        });
      }));
  observations.push_back(registry.observe_counters(
      {"llm_member_ejections_total",
       "Times that a worker lost so many requests that it got none for a while."},
      {}, [samples_of] {
        return samples_of([](const router::ModelStatus& model, const router::Router::PoolFailures& failures,
                             std::vector<obs::Sample>& samples) {
          const auto counts = failures.ejections.counts();
          for (const router::MemberStatus& member : model.members) {
            const auto found = counts.find(member.id);
            samples.emplace_back(obs::Labels{{"model", model.name}, {"member", member.id}},
                                 found == counts.end() ? 0 : static_cast<double>(found->second));
          }
        });
      }));
  observations.push_back(registry.observe_counters(
      {"llm_prefill_ejections_total",
       "Times that a worker's blocks failed so often that it computed no prompts for others for a while."},
      {}, [samples_of] {
        return samples_of(
            [](const router::ModelStatus& model, const PoolFailures&, std::vector<obs::Sample>& samples) {
              for (const router::MemberStatus& member : model.members)
                samples.emplace_back(obs::Labels{{"model", model.name}, {"member", member.id}},
                                     static_cast<double>(member.num_prefill_ejections));
            });
      }));
  observations.push_back(registry.observe_gauges(
      {"llm_prefill_members", "Workers that compute prompts for others now."}, {}, [samples_of] {
        return samples_of([](const router::ModelStatus& model, const PoolFailures&,
                             std::vector<obs::Sample>& samples) {
          samples.emplace_back(obs::Labels{{"model", model.name}},
                               std::ranges::count(model.members, true, &router::MemberStatus::is_prefill));
        });
      }));
  observe_trust(registry, samples_of, observations);
  observations.push_back(registry.observe_gauge(
      {"llm_sse_buffer_bytes", "Of streams: events kept for readers that come back, or not sent yet."},
      {{"kind", "resumable"}}, [&service] { return static_cast<double>(service.streams.num_bytes()); }));
  return observations;
}

}  // namespace kvasir::api

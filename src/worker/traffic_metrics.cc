#include "worker/traffic_metrics.h"

#include <cstddef>
#include <string>
#include <utility>

namespace kvasir::worker {

void observe(const remote::KvTraffic& traffic, obs::Registry& registry,
             std::vector<obs::Observation>& observations) {
  for (const auto& [name, direction] : {std::pair("in", &traffic.in), std::pair("out", &traffic.out)}) {
    const obs::Labels labels{{"direction", name}};
    observations.push_back(registry.observe_counter(
        {"kvasir_kv_transfers_total", "Prompts whose KV came from or went to another worker."}, labels,
        [direction] { return double(direction->num_transfers); }));
    observations.push_back(registry.observe_counter(
        {"kvasir_kv_transfer_bytes_total", "Bytes of KV that came from or went to other workers."}, labels,
        [direction] { return double(direction->num_bytes); }));
    observations.push_back(registry.observe_counter(
        {"kvasir_kv_transfer_seconds_total", "Time from the request for a prompt's KV to its last block."},
        labels, [direction] { return direction->seconds.load(); }));
  }
  observations.push_back(registry.observe_gauges(
      {"kvasir_kv_link_bytes_per_second", "How fast KV has come from another worker lately."}, {},
      [&traffic] {
        std::vector<obs::Sample> samples;
        const auto links = traffic.peers.links();
        for (const wire::KvLink& link : *links)
          samples.emplace_back(obs::Labels{{"peer", link.address}}, link.bytes_per_s);
        return samples;
      }));
  for (std::size_t i = 0; i < remote::kKvFailureNames.size(); ++i)
    observations.push_back(registry.observe_counter(
        {"kvasir_kv_transfer_failures_total", "Prompts whose KV did not come, or not all, by reason."},
        {{"reason", std::string(remote::kKvFailureNames[i])}},
        [&traffic, i] { return double(traffic.failures[i]); }));
}

}  // namespace kvasir::worker

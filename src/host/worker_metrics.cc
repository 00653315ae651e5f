#include "host/worker_metrics.h"

#include <functional>
#include <utility>

namespace kvasir::host {

namespace {

// The latest reports of a worker.
struct Seen {
  wire::WorkerReport report;
  engine::EngineStats stats;
  double peak_bytes_per_s = 0;

  int num_used() const { return report.num_blocks - report.num_free_blocks; }
};

struct Row {
  const char* name;
  const char* help;
  double (*read)(const Seen& seen);
};

// Gauges with the labels model and device.
constexpr Row kDeviceGauges[] = {
    {"gpu_kv_cache_utilization", "The part of the KV cache's blocks that sequences hold.",
     [](const Seen& s) {
       return s.report.num_blocks > 0 ? static_cast<double>(s.num_used()) / s.report.num_blocks : 0;
     }},
    {"gpu_batch_size", "Sequences of the last step; 0 where nothing runs.",
     [](const Seen& s) -> double { return s.report.num_running > 0 ? s.stats.last_batch : 0; }},
    {"gpu_arithmetic_intensity", "Operations for each byte that the latest steps read.",
     [](const Seen& s) {
       const engine::StepWork& work = s.stats.recent_work;
       return work.bytes > 0 ? work.flops / work.bytes : 0;
     }},
    {"gpu_hbm_bandwidth_utilization",
     "Bytes that the latest steps read a second, as a part of what the memory can give; 0 where nothing "
     "runs.",
     [](const Seen& s) {
       const bool known = s.report.num_running > 0 && s.stats.recent_s > 0 && s.peak_bytes_per_s > 0;
       return known ? s.stats.recent_work.bytes / s.stats.recent_s / s.peak_bytes_per_s : 0;
     }},
};
constexpr Row kDeviceCounters[] = {
    {"gpu_memory_read_bytes_total", "Weights and KV that steps read or wrote, by the model's shape.",
     [](const Seen& s) { return s.stats.work.bytes; }},
    {"gpu_operations_total", "Multiplications and additions of steps, by the model's shape.",
     [](const Seen& s) { return s.stats.work.flops; }},
};

// Gauges with the label model.
constexpr Row kGauges[] = {
    {"llm_sequences_running", "Sequences that have begun and not ended.",
     [](const Seen& s) -> double { return s.report.num_running; }},
    {"llm_worker_heartbeat_age_seconds", "Since the engine last ended a step; 0 where it has nothing to do.",
     [](const Seen& s) { return s.report.heartbeat_age_s; }},
    {"llm_worker_failed", "1 where the engine's device failed, and the server is about to begin anew.",
     [](const Seen& s) -> double { return s.report.failed ? 1 : 0; }},
};
constexpr Row kCounters[] = {
    {"llm_steps_total", "Steps.",
     [](const Seen& s) { return static_cast<double>(s.stats.sequences.num_steps); }},
    {"llm_preemptions_total", "Sequences that lost their blocks to others and were computed again.",
     [](const Seen& s) { return static_cast<double>(s.stats.sequences.num_preemptions); }},
    {"llm_step_predicted_seconds_total", "What the cost model said of the steps that ran.",
     [](const Seen& s) { return s.stats.predicted_s; }},
    {"llm_step_prediction_error_seconds_total", "How far it was off, summed over the steps.",
     [](const Seen& s) { return s.stats.absolute_error_s; }},
};

// A metric with the label model and one more.
struct SplitRow {
  const char* name;
  const char* help;
  const char* label;
  std::vector<std::pair<const char*, double>> (*read)(const Seen& seen);
};
const SplitRow kSplitGauges[] = {
    {"llm_kv_blocks", "Blocks of the KV cache; cached ones hold a prefix that nobody uses.", "state",
     [](const Seen& s) -> std::vector<std::pair<const char*, double>> {
       const int cached = s.report.num_cached_blocks;
       return {{"used", s.num_used()}, {"cached", cached}, {"free", s.report.num_free_blocks - cached}};
     }},
};
const SplitRow kSplitCounters[] = {
    {"llm_step_seconds_total", "Time of steps, by what was done.", "part",
     [](const Seen& s) -> std::vector<std::pair<const char*, double>> {
       return {{"plan", s.stats.plan_s}, {"run", s.stats.step_s}, {"commit", s.stats.commit_s}};
     }},
    {"llm_step_tokens_total", "Tokens that were computed: in chunks of prompts, or one at a time.", "kind",
     [](const Seen& s) -> std::vector<std::pair<const char*, double>> {
       return {{"prefill", static_cast<double>(s.stats.sequences.num_prefill_tokens)},
               {"decode", static_cast<double>(s.stats.sequences.num_decode_tokens)}};
     }},
    {"llm_sequences_total", "Sequences by how they ended; a stop string or a client that left aborts one.",
     "outcome",
     [](const Seen& s) -> std::vector<std::pair<const char*, double>> {
       return {{"finished", static_cast<double>(s.stats.sequences.num_finished)},
               {"failed", static_cast<double>(s.stats.sequences.num_failed)},
               {"aborted", static_cast<double>(s.stats.sequences.num_aborted)}};
     }},
};

std::vector<obs::Sample> samples_of(const SplitRow& row, const Seen& seen) {
  std::vector<obs::Sample> samples;
  for (const auto& [value, number] : row.read(seen))
    samples.emplace_back(obs::Labels{{row.label, value}}, number);
  return samples;
}

}  // namespace

std::vector<obs::Observation> observe_worker(obs::Registry& registry, const ObservedWorker& observed) {
  std::vector<obs::Observation> observations;
  const obs::Labels model = {{"model", observed.model}};
  const obs::Labels device = {{"model", observed.model}, {"device", observed.device}};
  const auto look = [worker = observed.worker, peak = observed.peak_bytes_per_s] {
    return Seen{worker->report(), worker->stats(), peak};
  };
  const auto value = [&](const Row& row) { return [look, &row] { return row.read(look()); }; };
  const auto split = [&](const SplitRow& row) { return [look, &row] { return samples_of(row, look()); }; };
  for (const Row& row : kDeviceGauges)
    observations.push_back(registry.observe_gauge({row.name, row.help}, device, value(row)));
  for (const Row& row : kDeviceCounters)
    observations.push_back(registry.observe_counter({row.name, row.help}, device, value(row)));
  for (const Row& row : kGauges)
    observations.push_back(registry.observe_gauge({row.name, row.help}, model, value(row)));
  for (const Row& row : kCounters)
    observations.push_back(registry.observe_counter({row.name, row.help}, model, value(row)));
  for (const SplitRow& row : kSplitGauges)
    observations.push_back(registry.observe_gauges({row.name, row.help}, model, split(row)));
  for (const SplitRow& row : kSplitCounters)
    observations.push_back(registry.observe_counters({row.name, row.help}, model, split(row)));
  return observations;
}

std::vector<obs::Observation> observe_server(obs::Registry& registry, const net::ServerStats& stats) {
  std::vector<obs::Observation> observations;
  const auto gauge = [&](const char* name, const char* help, const std::atomic<std::int64_t>& value) {
    observations.push_back(
        registry.observe_gauge({name, help}, {}, [&value] { return static_cast<double>(value.load()); }));
  };
  const auto counter = [&](const char* name, const char* help, const std::atomic<std::uint64_t>& value) {
    observations.push_back(
        registry.observe_counter({name, help}, {}, [&value] { return static_cast<double>(value.load()); }));
  };
  observations.push_back(registry.observe_gauge(
      {"llm_sse_buffer_bytes", "Of streams: events kept for readers that come back, or not sent yet."},
      {{"kind", "unsent"}}, [&stats] { return static_cast<double>(stats.unsent_bytes.load()); }));
  gauge("kvasir_http_connections", "Open connections.", stats.open_connections);
  gauge("kvasir_http_requests_active", "Requests that are being answered.", stats.active_requests);
  counter("kvasir_http_connections_total", "Connections accepted.", stats.accepted);
  counter("kvasir_http_connections_refused_total", "Connections over the limit.", stats.refused_connections);
  counter("kvasir_http_requests_refused_total", "Requests that were malformed, too large or too slow.",
          stats.refused_requests);
  counter("kvasir_http_disconnects_total", "Clients that left while they were being answered.",
          stats.disconnects);
  counter("kvasir_tls_handshakes_failed_total", "TLS handshakes that failed or took too long.",
          stats.failed_handshakes);
  return observations;
}

}  // namespace kvasir::host

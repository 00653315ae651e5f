#include "gateway/worker_metrics.h"

#include <functional>

namespace kvasir::gateway {

namespace {

struct ReportRow {
  const char* name;
  const char* help;
  double (*read)(const wire::WorkerReport& report);
};
constexpr ReportRow kReport[] = {
    {"kvasir_kv_blocks", "Blocks of the KV cache.",
     [](const wire::WorkerReport& r) -> double { return r.num_blocks; }},
    {"kvasir_kv_blocks_free", "Blocks that no sequence holds; some may hold a prefix that can be reused.",
     [](const wire::WorkerReport& r) -> double { return r.num_free_blocks; }},
    {"kvasir_kv_blocks_cached", "Of the free blocks, those that hold a prefix.",
     [](const wire::WorkerReport& r) -> double { return r.num_cached_blocks; }},
    {"kvasir_sequences_running", "Sequences that have begun and not ended.",
     [](const wire::WorkerReport& r) -> double { return r.num_running; }},
    {"kvasir_sequences_waiting", "Sequences that wait for a place in the batch.",
     [](const wire::WorkerReport& r) -> double { return r.num_waiting; }},
    {"kvasir_engine_progressing", "1 where the engine ends steps or has nothing to do.",
     [](const wire::WorkerReport& r) -> double { return r.progressing ? 1 : 0; }},
    {"kvasir_engine_failed", "1 where the engine's device failed, and the server is about to begin anew.",
     [](const wire::WorkerReport& r) -> double { return r.failed ? 1 : 0; }},
};

struct StatsRow {
  const char* name;
  const char* help;
  double (*read)(const engine::EngineStats& stats);
};
constexpr StatsRow kStats[] = {
    {"kvasir_engine_steps_total", "Steps.",
     [](const engine::EngineStats& s) { return static_cast<double>(s.sequences.num_steps); }},
    {"kvasir_engine_prefill_tokens_total", "Tokens computed in prefill chunks.",
     [](const engine::EngineStats& s) { return static_cast<double>(s.sequences.num_prefill_tokens); }},
    {"kvasir_engine_decode_tokens_total", "Tokens computed one at a time.",
     [](const engine::EngineStats& s) { return static_cast<double>(s.sequences.num_decode_tokens); }},
    {"kvasir_engine_cached_tokens_total", "Tokens of prompts taken from the prefix cache.",
     [](const engine::EngineStats& s) { return static_cast<double>(s.sequences.num_cached_tokens); }},
    {"kvasir_engine_output_tokens_total", "Tokens sampled.",
     [](const engine::EngineStats& s) { return static_cast<double>(s.sequences.num_output_tokens); }},
    {"kvasir_engine_preemptions_total", "Sequences that lost their blocks to others and were computed again.",
     [](const engine::EngineStats& s) { return static_cast<double>(s.sequences.num_preemptions); }},
    {"kvasir_engine_sequences_finished_total", "Sequences that ended by themselves.",
     [](const engine::EngineStats& s) { return static_cast<double>(s.sequences.num_finished); }},
    {"kvasir_engine_sequences_failed_total", "Sequences that ended with an error.",
     [](const engine::EngineStats& s) { return static_cast<double>(s.sequences.num_failed); }},
    {"kvasir_engine_sequences_aborted_total", "Sequences that were cancelled, by a stop string or a client.",
     [](const engine::EngineStats& s) { return static_cast<double>(s.sequences.num_aborted); }},
    {"kvasir_engine_step_seconds_total", "Time spent in steps.",
     [](const engine::EngineStats& s) { return s.step_s; }},
    {"kvasir_engine_predicted_seconds_total", "What the cost model said of the same steps.",
     [](const engine::EngineStats& s) { return s.predicted_s; }},
    {"kvasir_engine_prediction_error_seconds_total", "Difference of the two, summed over the steps.",
     [](const engine::EngineStats& s) { return s.absolute_error_s; }},
};

}  // namespace

std::vector<obs::Observation> observe_worker(obs::Registry& registry, const std::string& model,
                                             const std::shared_ptr<engine::LocalWorker>& worker) {
  std::vector<obs::Observation> observations;
  const obs::Labels labels = {{"model", model}};
  for (const ReportRow& row : kReport)
    observations.push_back(registry.observe_gauge(
        {row.name, row.help}, labels, [worker, read = row.read] { return read(worker->report()); }));
  for (const StatsRow& row : kStats)
    observations.push_back(registry.observe_counter(
        {row.name, row.help}, labels, [worker, read = row.read] { return read(worker->stats()); }));
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

}  // namespace kvasir::gateway

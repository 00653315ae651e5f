#include "gateway/gateway.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "api/http/caller/site_guard.h"
#include "api/routes.h"
#include "config/load.h"
#include "host/machine_memory.h"
#include "host/slo_setting.h"
#include "host/worker_metrics.h"
#include "hub/open.h"
#include "model/decoder/device_decoder.h"
#include "obs/log.h"
#include "store/open.h"
#include "tenancy/local_counters.h"

namespace kvasir::gateway {

using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

// The settings with the device that `auto` means on this machine.
config::Settings with_device(config::Settings settings) {
  settings.device = model::computes_on_cuda(settings.device) ? "cuda" : "cpu";
  return settings;
}

// After everything was cut off, open answers have this time to send the reason of their end.
constexpr std::chrono::seconds kLastWords{2};

base::Duration from_seconds(double seconds) {
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(seconds));
}

int num_compute_threads(const config::Settings& settings) {
  if (settings.compute_threads > 0) return settings.compute_threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

tenancy::AdmissionLimits admission_limits(const config::Settings& settings) {
  const int per_model = settings.max_queue + settings.max_batch_sequences;
  int top_priority = 0;
  int beside = settings.upstreams.empty() ? 0 : settings.max_queue;  // requests that wait for upstreams
  for (const config::UpstreamConfig& upstream : settings.upstreams) beside += upstream.max_in_flight;
  for (const config::TierConfig& tier : settings.tiers) top_priority = std::max(top_priority, tier.priority);
  return {.max_sequences = per_model,
          .max_sequences_per_tenant = per_model,
          .num_beside = beside,
          .top_priority = top_priority};
}

api::ServiceOptions service_options(const config::Settings& settings) {
  return {.max_json_depth = settings.max_json_depth,
          .max_body_bytes = static_cast<std::size_t>(settings.max_body_bytes),
          .cors_origins = settings.cors_origins,
          .ping_interval = from_seconds(settings.ping_interval_s),
          .num_text_threads = 2,
          .max_waiting_texts = static_cast<std::size_t>(settings.max_queue),
          .max_sequences = std::min(settings.max_queue, api::kMaxSequencesPerRequest),
          .resumable = {.max_logs = static_cast<std::size_t>(settings.resumable_streams),
                        .max_bytes_per_log = static_cast<std::size_t>(settings.resumable_buffer_kb) << 10,
                        .keep = from_seconds(settings.resumable_keep_s)},
          .max_tool_rounds = settings.tool_rounds,
          .auto_small = settings.auto_small,
          .auto_large = settings.auto_large,
          .admits_by_goodput = settings.admission == "goodput",
          .max_lobby = static_cast<std::size_t>(settings.max_queue),
          .log_requests = settings.log_requests,
          .log_prompts = settings.log_prompts,
          .trace_prompts = settings.trace_prompts};
}

router::Residence::Options residence_options(const config::Settings& settings,
                                             router::OnModelState on_state) {
  const base::Duration wait = from_seconds(settings.load_wait_s);
  return {.memory = {.budget_bytes = host::model_memory_bytes(settings),
                     .makes_room = settings.load_on_request,
                     .max_wait = wait},
          .loads_on_request = settings.load_on_request,
          .pulls_on_request = settings.pull_on_request,
          .loads_side_by_side = settings.device == "cuda",
          .max_wait = wait,
          .max_waiting = static_cast<std::size_t>(settings.max_queue),
          .on_state = std::move(on_state)};
}

// Anyone who reaches a server without keys may use it and read what is stored. So such a server listens on
// loopback only, unless the settings allow more.
std::string host_of(const config::Settings& settings, const tenancy::Directory& directory) {
  if (directory.needs_key() || settings.allow_anonymous || api::is_loopback(settings.host))
    return settings.host;
  return settings.host.find(':') == std::string::npos ? "127.0.0.1" : "::1";
}

net::ServerOptions server_options(const config::Settings& settings, const std::string& host,
                                  const tenancy::Directory& directory) {
  net::ServerOptions options;
  options.host = host;
  options.port = static_cast<std::uint16_t>(settings.port);
  if (!settings.tls_cert.empty()) options.tls = net::TlsFiles{settings.tls_cert, settings.tls_key};
  options.num_io_threads = settings.io_threads;
  options.max_connections = settings.max_connections;
  options.max_header_bytes = static_cast<std::size_t>(settings.max_header_bytes);
  options.max_body_bytes = static_cast<std::size_t>(settings.max_body_bytes);
  options.max_bodies_bytes = static_cast<std::size_t>(settings.max_bodies_mb) << 20;
  options.wants_body = [](const net::HttpRequest& head) {
    return api::find_route(head.method, head.path).ok();
  };
  options.refuse_head = [guard = api::SiteGuard({host, settings.cors_origins}),
                         &directory](const net::HttpRequest& head) {
    auto refused = guard.refuse(head);
    return refused ? refused : api::Api::refuse_caller(directory, head);
  };
  options.header_timeout = from_seconds(settings.header_timeout_s);
  options.body_timeout = from_seconds(settings.body_timeout_s);
  options.idle_timeout = from_seconds(settings.idle_timeout_s);
  options.write_timeout = from_seconds(settings.write_timeout_s);
  options.refusal = api::Api::refusal(service_options(settings));
  return options;
}

// Lives as long as the process, since counters outlive their gateway while a permit is held.
const base::WallClock& wall_clock() {
  static const base::RealWallClock clock;
  return clock;
}

const base::Clock& steady_clock() {
  static const base::RealClock clock;
  return clock;
}

}  // namespace

Gateway::Gateway(const config::Settings& settings, Opened opened, hub::ProgressSink& progress,
                 const router::OnModelState& on_state)
    : settings_(settings),
      host_(host_of(settings, *opened.directory)),
      library_(std::move(opened.library)),
      process_metrics_(registry_),
      tracer_({.records = opened.traces.has_value(), .sample_rate = settings.trace_sample_rate}, clock_),
      pool_(RemoteModels::are_meant(settings) ? 1 : num_compute_threads(settings), opened.isa),
      upstreams_(std::move(opened.upstreams)),
      loader_(make_loader(std::move(opened.asked), progress)),
      residence_(make_residence(on_state)),
      admission_(admission_limits(settings), std::move(opened.counters), [this] { return num_engines(); }),
      store_(std::move(opened.store)),
      directory_(std::move(opened.directory)),
      meter_(std::move(opened.meter)),
      tools_(std::move(opened.tools)),
      api_(service_options(settings), {router_, admission_, registry_, clock_, *store_, *directory_, *meter_,
                                       tools_.get(), tracer_, residence_.get(), upstreams_.get(), &board_}) {
  upstreams_->observe(registry_);
  if (opened.traces)
    trace_exporter_ = std::make_unique<TraceExporter>(std::move(*opened.traces), tracer_, registry_);
}

std::unique_ptr<host::LocalLoader> Gateway::make_loader(Asked asked, hub::ProgressSink& progress) {
  if (RemoteModels::are_meant(settings_)) return nullptr;
  return std::make_unique<host::LocalLoader>(
      host::HostSurroundings{.settings = settings_,
                             .pool = pool_,
                             .registry = registry_,
                             .clock = clock_,
                             .progress = progress,
                             .gpu_shares = std::move(asked.gpu_shares),
                             .slo_ttft_ms = std::move(asked.slo_ttft_ms),
                             .slo_tpot_ms = std::move(asked.slo_tpot_ms)},
      std::set(asked.started_with.begin(), asked.started_with.end()));
}

std::unique_ptr<router::Residence> Gateway::make_residence(const router::OnModelState& on_state) {
  if (RemoteModels::are_meant(settings_)) return nullptr;
  return std::make_unique<router::Residence>(residence_options(settings_, on_state),
                                             router::Residence::Parts{router_, *loader_, library_, clock_});
}

int Gateway::num_engines() const {
  if (!residence_) return router_.num_members();
  return std::max(static_cast<int>(settings_.model.size()), residence_->num_in_memory());
}

Result<std::unique_ptr<Gateway>> Gateway::start(const config::Settings& settings, hub::ProgressSink& progress,
                                                router::OnModelState on_state) {
  TRY(hub::Library library, hub::open_library(settings));
  Asked asked;
  if (!RemoteModels::are_meant(settings)) {
    TRY(asked, check_models(settings, library));
  }
  TRY(const ops::Isa isa, ops::choose_isa(settings.isa));
  TRY(std::unique_ptr<store::Store> store, store::open_store(settings));
  TRY(std::unique_ptr<tenancy::Directory> directory,
      tenancy::Directory::open(store->accounts(), settings.tiers, {}));
  TRY(std::shared_ptr<tenancy::Counters> counters,
      tenancy::LocalCounters::open(config::data_dir(settings), wall_clock(),
                                   tenancy::Journal::Durability::disk));
  const std::filesystem::path usage_folder = config::data_dir(settings) / "usage";
  TRY(std::unique_ptr<meter::Meter> meter,
      meter::Meter::open({.folder = usage_folder, .prices = settings.prices}, store->usage()));
  TRY(std::unique_ptr<tool::Toolbox> tools, tool::Toolbox::open(settings.tools));
  TRY(std::unique_ptr<upstream::Upstreams> upstreams,
      upstream::Upstreams::open(settings.upstreams, steady_clock()));
  TRY(std::optional<TraceExporter::Options> traces, trace_options(settings));
  std::unique_ptr<Gateway> gateway(new Gateway(
      config::with_sizes(with_device(settings)),
      {std::move(library), std::move(asked), std::move(store), std::move(directory), std::move(counters),
       std::move(meter), std::move(tools), std::move(upstreams), isa, std::move(traces)},
      progress, on_state));
  for (const auto& pool : gateway->upstreams_->pools()) gateway->router_.add_elsewhere(pool->name());
  TRY_OK(gateway->serve(std::move(on_state)));
  gateway->upstreams_->start();
  gateway->api_.start_batches();
  return gateway;
}

Status Gateway::start_models(router::OnModelState on_state) {
  if (RemoteModels::are_meant(settings_)) {
    TRY(remote_models_, RemoteModels::start({settings_, router_, board_, std::move(on_state)}));
    return base::ok();
  }
  residence_->start();
  return base::ok();
}

// Clients and open batches ask for models by name, so the names are added before the first request.
Status Gateway::serve(router::OnModelState on_state) {
  if (residence_) {
    std::vector<hub::Model> models;
    for (const std::string& wanted : settings_.model) {
      TRY(hub::Model model, library_.find(wanted));
      models.push_back(std::move(model));
    }
    residence_->add(models);
  } else {
    auditor_ = std::make_shared<audit::Auditor>(
        audit::Auditor::Options{.share = settings_.quality_check_share, .seed = api::draw_seed()}, router_);
    router_.listen_to_answers(auditor_);
  }
  TRY_OK(listen());
  return start_models(std::move(on_state));
}

Status Gateway::listen() {
  server_ = std::make_unique<net::HttpServer>(server_options(settings_, host_, *directory_), api_.handler());
  auto port = server_->start();
  if (!port.ok()) {
    base::Error error = std::move(port).error();
    if (error.code == ErrorCode::unavailable) error.message += "; choose another with --port";
    return error;
  }
  port_ = *port;
  server_observations_ = host::observe_server(registry_, server_->stats());
  server_observations_.push_back(registry_.observe_counter(
      {"llm_usage_records_lost_total", "Records of requests that the disk did not take in time."}, {},
      [this] { return static_cast<double>(meter_->num_lost()); }));
  server_observations_.push_back(registry_.observe_gauge(
      {"llm_usage_lag_seconds", "Since the totals of usage had every record; 0 where they have them all."},
      {}, [this] { return base::seconds(meter_->lag()); }));
  if (residence_) observe_memory();
  registry_.gauge({"kvasir_build_info", "1, with the program's version."}, {{"version", KVASIR_VERSION}})
      .set(1);
  return base::ok();
}

void Gateway::observe_memory() {
  server_observations_.push_back(registry_.observe_gauges(
      {"llm_model_memory_bytes", "Memory of the models that are loaded, by what it is for."}, {}, [this] {
        std::vector<obs::Sample> samples;
        for (const router::ModelStatus& model : router_.models())
          for (const auto& [part, bytes] :
               {std::pair("weights", model.memory.weights), std::pair("kv", model.memory.kv),
                std::pair("workspace", model.memory.workspace)})
            if (model.memory.sum() > 0)
              samples.emplace_back(obs::Labels{{"model", model.name}, {"part", part}},
                                   static_cast<double>(bytes));
        return samples;
      }));
  server_observations_.push_back(
      registry_.observe_gauge({"llm_model_memory_budget_bytes", "Memory that all models together may take."},
                              {}, [this] { return static_cast<double>(residence_->budget_bytes()); }));
}

Result<Gateway::Asked> Gateway::check_models(const config::Settings& settings, const hub::Library& library) {
  Asked asked;
  std::set<std::string> names;
  for (const std::string& wanted : settings.model) {
    TRY(const hub::Model model, library.find(wanted));
    if (model.entry != nullptr && !model.entry->not_served.empty())
      return base::error(ErrorCode::unsupported, "'{}' cannot be served: {}", model.name,
                         model.entry->not_served);
    if (!names.insert(model.name).second)
      return base::error(ErrorCode::invalid_argument, "two models are called '{}'; serve one of them",
                         model.name);
    asked.started_with.push_back(model.name);
  }
  for (const hub::Model& model : library.list()) names.insert(model.name);  // may be loaded later
  for (const auto& [flag, name] :
       {std::pair("--auto-small", settings.auto_small), std::pair("--auto-large", settings.auto_large)})
    if (!name.empty() && !names.contains(name))
      return base::error(ErrorCode::invalid_argument, "{}: no model '{}' is served", flag, name);
  const std::vector<std::string> all(names.begin(), names.end());
  TRY(asked.gpu_shares, host::parse_shares(settings.gpu_kv_share, all));
  TRY(asked.slo_ttft_ms, host::parse_slo_ms("--slo-ttft-ms", settings.slo_ttft_ms, all));
  TRY(asked.slo_tpot_ms, host::parse_slo_ms("--slo-tpot-ms", settings.slo_tpot_ms, all));
  return asked;
}

void Gateway::count_restarts(int num_restarts) {
  registry_
      .counter(
          {"kvasir_restarts_total", "Times that the server re-created itself after an engine's failure."})
      .add(static_cast<std::uint64_t>(num_restarts));
}

bool Gateway::drain(api::Api::Drain why) {
  api_.drain(why);
  const double timeout_s =
      why == api::Api::Drain::restart ? settings_.restart_drain_s : settings_.drain_timeout_s;
  obs::Log::debug("draining", {{"requests", api_.num_busy()}, {"timeout_s", timeout_s}});
  const bool finished = api_.wait_idle(from_seconds(timeout_s));
  if (!finished) obs::Log::debug("drain_timeout", {{"cut_off", api_.num_busy()}});
  return finished;
}

// The order matters. Batches release the engines. Engines stop and tell their readers why. Tools and text
// work stop next, since they return to the server's threads. When the handlers have stored their results, the
// store's queue stops. Then the server stops with any handlers that are left. What the handlers refer to is
// destroyed last.
Gateway::~Gateway() {
  api_.drain();
  api_.stop_batches();
  if (residence_) residence_->stop();
  if (auditor_) auditor_->stop();
  if (remote_models_) remote_models_->stop();
  upstreams_->stop();
  tools_->stop();
  api_.stop_text_work();
  if (server_) {
    server_->stop_accepting();
    server_->wait_idle(kLastWords);
    api_.wait_idle(kLastWords);
    api_.stop_storing();
    server_->stop();
  }
  upstreams_->close_connections();  // they live on the server's threads, which have ended
  directory_->stop();               // it posts revoked keys to handlers on the server's threads
  server_observations_.clear();
  server_.reset();
  residence_.reset();  // with the models
  remote_models_.reset();
  if (trace_exporter_) trace_exporter_->stop();  // with the traces of the last requests
}

}  // namespace kvasir::gateway

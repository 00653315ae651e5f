#include "worker/worker.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "config/load.h"
#include "fleet/etcd_options.h"
#include "host/slo_setting.h"
#include "host/text_assets.h"
#include "host/worker_metrics.h"
#include "hub/open.h"
#include "obs/log.h"
#include "worker/traffic_metrics.h"

namespace kvasir::worker {

using base::ErrorCode;
using base::Result;

namespace {

// The last errors get this time to reach their gateways after the engine has stopped.
constexpr std::chrono::seconds kLastWords{1};

base::Duration in_seconds(double seconds) {
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(seconds));
}

int compute_threads(const config::Settings& settings) {
  if (settings.compute_threads > 0) return settings.compute_threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// A worker has exactly one model, which gets the whole KV cache of the machine.
Result<std::string> only_model(const config::Settings& settings) {
  if (settings.model.size() == 1 && settings.model != config::Settings().model) return settings.model.front();
  return base::error(ErrorCode::invalid_argument, "a worker serves one model: name it with --model");
}

net::HttpResponse json_answer(int status, std::string_view word) {
  return net::HttpResponse::json(status, fmt::format(R"({{"status":"{}"}})", word));
}

Result<net::ServerOptions> health_options(const config::Settings& settings) {
  const std::string& address = settings.health_listen;
  const std::size_t colon = address.rfind(':');
  net::ServerOptions options;
  int port = -1;
  if (colon != std::string::npos)
    std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
  if (port < 0 || port > 65535)
    return base::error(ErrorCode::invalid_argument, "--health-listen: '{}' is no HOST:PORT", address);
  options.host = address.substr(0, colon);
  if (options.host.starts_with('[') && options.host.ends_with(']'))
    options.host = options.host.substr(1, options.host.size() - 2);
  options.port = static_cast<std::uint16_t>(port);
  options.max_connections = 256;
  return options;
}

}  // namespace

Worker::Worker(const config::Settings& settings, Opened opened, hub::ProgressSink& progress)
    : settings_(settings),
      library_(std::move(opened.library)),
      model_(std::move(opened.model)),
      peer_(std::move(opened.peer)),
      etcd_(std::move(opened.etcd)),
      progress_(progress),
      traffic_(std::make_shared<remote::KvTraffic>(std::size_t(settings.kv_transfer_mb) << 20)),
      process_metrics_(registry_),
      pool_(compute_threads(settings), opened.isa),
      loader_(host::HostSurroundings{.settings = settings_,
                                     .pool = pool_,
                                     .registry = registry_,
                                     .clock = clock_,
                                     .progress = progress,
                                     .slo_ttft_ms = std::move(opened.slo_ttft_ms),
                                     .slo_tpot_ms = std::move(opened.slo_tpot_ms)},
              {model_.name}) {}

Result<std::unique_ptr<Worker>> Worker::start(const config::Settings& settings, hub::ProgressSink& progress) {
  TRY(const std::string wanted, only_model(settings));
  remote::PeerOptions peer{.allows_plaintext = settings.fleet_plaintext};
  TRY(peer.tls, remote::read_tls(settings.fleet_cert, settings.fleet_key, settings.fleet_ca));
  TRY_OK(remote::check_address(settings.listen, peer));
  std::optional<fleet::EtcdOptions> etcd;
  if (!settings.etcd.empty()) {
    TRY(etcd, fleet::etcd_options(settings));
  }
  TRY(hub::Library library, hub::open_library(settings));
  TRY(hub::Model model, library.find(wanted));
  const std::vector<std::string> names = {model.name};
  TRY(auto ttft_ms, host::parse_slo_ms("--slo-ttft-ms", settings.slo_ttft_ms, names));
  TRY(auto tpot_ms, host::parse_slo_ms("--slo-tpot-ms", settings.slo_tpot_ms, names));
  TRY(const ops::Isa isa, ops::choose_isa(settings.isa));
  std::unique_ptr<Worker> worker(new Worker(config::with_sizes(settings),
                                            {std::move(library), std::move(model), std::move(peer),
                                             std::move(etcd), std::move(ttft_ms), std::move(tpot_ms), isa},
                                            progress));
  TRY_OK(worker->listen_for_health());
  return worker;
}

base::Status Worker::listen_for_health() {
  TRY(net::ServerOptions options, health_options(settings_));
  health_ = std::make_unique<net::HttpServer>(
      std::move(options),
      [this](net::HttpRequest& request, net::Responder& responder) { return answer(request, responder); });
  TRY(health_port_, health_->start());
  return base::ok();
}

Result<std::optional<wire::WorkerCard>> Worker::load() {
  std::unique_lock lock(mutex_);
  host_ = loader_.make_host(model_, *this);
  if (!hub::is_here(model_)) {
    host_->fetch();
    changed_.wait(lock, [this] { return ending_ || fetched_ || loaded_; });
  }
  if (!ending_ && !loaded_) {
    host_->load();
    changed_.wait(lock, [this] { return ending_ || loaded_; });
  }
  if (ending_ && !loaded_) return std::optional<wire::WorkerCard>();
  Result<router::ServedModel> loaded = std::move(*loaded_);
  lock.unlock();
  if (!loaded.ok()) return std::move(loaded).error();
  TRY(wire::WorkerCard card, serve(std::move(*loaded)));
  return std::optional(std::move(card));
}

Result<remote::WorkerServer::Served> Worker::served_of(router::ServedModel model) const {
  remote::WorkerServer::Served served{.max_queue = settings_.max_queue, .traffic = traffic_};
  if (auto* generating = std::get_if<router::GeneratingModel>(&model)) {
    TRY(served.text, host::text_assets_of(model_.path, generating->text));
    served.grammars = generating->text.grammars;
    served.card.num_blocks = generating->worker->report().num_blocks;
    served.worker = std::move(generating->worker);
  } else {
    auto& embedding = std::get<router::EmbeddingModel>(model);
    TRY(served.text, host::text_assets_of(model_.path, embedding.text));
    served.embedder = std::move(embedding.worker);
  }
  served.card.id = settings_.worker_id;
  served.card.model = model_.name;
  served.card.fingerprint = served.text.fingerprint;
  served.card.build = KVASIR_VERSION;
  served.card.role = settings_.role;
  served.card.context_length = served.text.context_length;
  return served;
}

Result<wire::WorkerCard> Worker::serve(router::ServedModel model) {
  TRY(remote::WorkerServer::Served parts, served_of(std::move(model)));
  std::function<wire::WorkerReport()> report = [worker = parts.worker, embedder = parts.embedder] {
    return embedder ? embedder->report() : worker->report();
  };
  TRY(server_,
      remote::WorkerServer::start({.listen = settings_.listen, .peer = peer_, .on_drain = [this] { end(); }},
                                  std::move(parts)));
  observe(*traffic_, registry_, observations_);
  observations_.push_back(registry_.observe_gauge({"kvasir_worker_gateways", "Gateways that are connected."},
                                                  {},
                                                  [this] { return double(server_->stats().num_gateways); }));
  observations_.push_back(registry_.observe_counter(
      {"kvasir_worker_events_total", "Events of sequences that were sent to gateways."}, {},
      [this] { return double(server_->stats().num_events); }));
  observations_.push_back(registry_.observe_counter(
      {"kvasir_worker_messages_total", "Messages with events; one holds those of a step for a gateway."}, {},
      [this] { return double(server_->stats().num_messages); }));
  {
    const std::lock_guard lock(mutex_);
    report_ = std::move(report);
  }
  const wire::WorkerCard served = server_->card();
  if (etcd_) {
    const std::string& address = settings_.advertise.empty() ? served.address : settings_.advertise;
    registration_ = std::make_unique<fleet::EtcdRegistration>(
        *etcd_, fleet::WorkerPlace{.id = served.id, .address = address});
  }
  return served;
}

base::Status Worker::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ending_; });
  if (engine_failure_) return *engine_failure_;
  return base::ok();
}

void Worker::end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
}

bool Worker::drain() {
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
  }
  registration_.reset();
  {
    const std::lock_guard lock(mutex_);
    if (engine_failure_) return true;
  }
  if (!server_) return true;
  server_->drain();
  return server_->wait_idle(in_seconds(settings_.drain_timeout_s));
}

// The engine stops first, so that its readers get the reason, and nothing is sent to a destroyed server.
Worker::~Worker() {
  registration_.reset();
  if (host_) host_->stop();
  if (server_) (void)server_->wait_idle(kLastWords);
  observations_.clear();
  server_.reset();
  if (health_) health_->stop();
  health_.reset();
  {
    const std::lock_guard lock(mutex_);
    report_ = {};
    loaded_.reset();
  }
  host_.reset();
}

void Worker::tell_state(const std::string& /*name*/, router::ModelState /*state*/) {}

void Worker::tell_fetched(const std::string& /*name*/, std::int64_t /*bytes*/) {
  {
    const std::lock_guard lock(mutex_);
    fetched_ = true;
  }
  changed_.notify_all();
}

void Worker::tell_ready(const std::string& name, router::ServedModel model, router::ModelMemory /*memory*/,
                        std::string note) {
  if (!note.empty()) progress_.note(name, note);
  {
    const std::lock_guard lock(mutex_);
    loaded_ = std::move(model);
  }
  changed_.notify_all();
}

void Worker::tell_failed(const std::string& /*name*/, base::Error error) {
  {
    const std::lock_guard lock(mutex_);
    loaded_ = std::move(error);
  }
  changed_.notify_all();
}

void Worker::tell_engine_failed(const std::string& /*name*/, const base::Error& error) {
  {
    const std::lock_guard lock(mutex_);
    engine_failure_ = error;
    ending_ = true;
  }
  changed_.notify_all();
}

net::HttpResponse Worker::health(std::string_view what) const {
  std::function<wire::WorkerReport()> report;
  bool draining = false;
  {
    const std::lock_guard lock(mutex_);
    report = report_;
    draining = draining_ || ending_;
  }
  if (what == "live") return json_answer(200, "live");
  if (what == "ready") {
    if (draining) return json_answer(503, "draining");
    return report ? json_answer(200, "ready") : json_answer(503, "not ready");
  }
  const bool progressing = !report || report().progressing;
  return progressing ? json_answer(200, "progressing") : json_answer(503, "stalled");
}

boost::asio::awaitable<void> Worker::answer(net::HttpRequest& request, net::Responder& responder) {
  constexpr std::string_view kHealth = "/health/";
  net::HttpResponse response = json_answer(404, "not found");
  const std::string_view path = request.path;
  if (path == "/metrics") {
    const obs::Format format = obs::format_for(request.header("accept").value_or(""));
    response = net::HttpResponse(200, std::string(content_type(format)), registry_.text(format));
  } else if (path == "/health/live" || path == "/health/ready" || path == "/health/progress") {
    response = health(path.substr(kHealth.size()));
  }
  (void)co_await responder.send(std::move(response));
}

}  // namespace kvasir::worker

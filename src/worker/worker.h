#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "config/settings.h"
#include "fleet/etcd_registration.h"
#include "host/local_loader.h"
#include "hub/library.h"
#include "hub/pull.h"
#include "net/http_server.h"
#include "obs/process_metrics.h"
#include "obs/registry.h"
#include "ops/cpu/compute_pool.h"
#include "remote/kv_traffic.h"
#include "remote/worker_server.h"
#include "router/host.h"

namespace kvasir::worker {

// Serves one model to the gateways of a fleet. /health and /metrics answer as soon as this object exists;
// gateways are let in when the model is loaded. Created, served, drained and destroyed by one thread.
class Worker final : public router::HostReports {
 public:
  // Fails if an address cannot be used or the model's name is unknown. `progress` outlives the worker.
  static base::Result<std::unique_ptr<Worker>> start(const config::Settings& settings,
                                                     hub::ProgressSink& progress);
  // Ends the sequences that still run.
  ~Worker() override;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Loads the model and lets gateways in. Empty if `end` was called first.
  base::Result<std::optional<wire::WorkerCard>> load();
  // Waits for `end`. Fails if the engine has failed.
  base::Status wait();
  // Ends `load` and `wait`. May be called from any thread.
  void end();
  // Refuses new requests, and waits for the running ones as long as the settings allow. False if some still
  // run.
  bool drain();

  std::uint16_t health_port() const { return health_port_; }

  void tell_state(const std::string& name, router::ModelState state) override;
  void tell_fetched(const std::string& name, std::int64_t bytes) override;
  void tell_ready(const std::string& name, router::ServedModel model, router::ModelMemory memory,
                  std::string note) override;
  void tell_failed(const std::string& name, base::Error error) override;
  void tell_engine_failed(const std::string& name, const base::Error& error) override;

 private:
  struct Opened {
    hub::Library library;
    hub::Model model;
    remote::PeerOptions peer;
    std::optional<fleet::EtcdOptions> etcd;
    std::map<std::string, double> slo_ttft_ms;
    std::map<std::string, double> slo_tpot_ms;
    ops::Isa isa;
  };
  Worker(const config::Settings& settings, Opened opened, hub::ProgressSink& progress);
  base::Status listen_for_health();
  // The parts of the model that gateways get.
  base::Result<remote::WorkerServer::Served> served_of(router::ServedModel model) const;
  base::Result<wire::WorkerCard> serve(router::ServedModel model);
  boost::asio::awaitable<void> answer(net::HttpRequest& request, net::Responder& responder);
  net::HttpResponse health(std::string_view what) const;

  const config::Settings settings_;
  const hub::Library library_;
  const hub::Model model_;
  const remote::PeerOptions peer_;
  const std::optional<fleet::EtcdOptions> etcd_;
  hub::ProgressSink& progress_;
  const std::shared_ptr<remote::KvTraffic> traffic_;
  base::RealClock clock_;
  obs::Registry registry_;
  obs::ProcessMetrics process_metrics_;
  ops::ComputePool pool_;
  host::LocalLoader loader_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;                                      // guarded by mutex_
  bool draining_ = false;                                    // guarded by mutex_
  bool fetched_ = false;                                     // guarded by mutex_
  std::optional<base::Result<router::ServedModel>> loaded_;  // guarded by mutex_
  std::optional<base::Error> engine_failure_;                // guarded by mutex_
  std::function<wire::WorkerReport()> report_;               // guarded by mutex_; empty until loaded
  std::unique_ptr<router::Host> host_;
  std::unique_ptr<remote::WorkerServer> server_;  // null until loaded
  // Null until loaded, without etcd, and after draining has begun.
  std::unique_ptr<fleet::EtcdRegistration> registration_;
  std::vector<obs::Observation> observations_;
  std::unique_ptr<net::HttpServer> health_;
  std::uint16_t health_port_ = 0;
};

}  // namespace kvasir::worker

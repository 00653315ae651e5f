#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/api.h"
#include "api/http/service/request_id.h"
#include "audit/auditor.h"
#include "base/clock.h"
#include "base/result.h"
#include "config/settings.h"
#include "gateway/remote_models.h"
#include "gateway/trace_exporter.h"
#include "host/local_loader.h"
#include "hub/library.h"
#include "meter/meter.h"
#include "net/http_server.h"
#include "obs/process_metrics.h"
#include "obs/registry.h"
#include "obs/tracer.h"
#include "ops/cpu/compute_pool.h"
#include "router/residence.h"
#include "router/router.h"
#include "store/store.h"
#include "tenancy/admission.h"
#include "tenancy/directory.h"
#include "tool/toolbox.h"
#include "upstream/upstreams.h"

namespace kvasir::gateway {

// The HTTP API and its models, which are in this process or, if the settings name workers, in other
// processes. It answers requests as soon as it exists; models become ready one by one. Created, drained and
// destroyed by one thread.
class Gateway {
 public:
  // Fails if the address or the certificate cannot be used or a model's name is unknown. A model that cannot
  // be loaded is not an error. `progress` outlives the gateway, `on_state` may be empty.
  static base::Result<std::unique_ptr<Gateway>> start(const config::Settings& settings,
                                                      hub::ProgressSink& progress,
                                                      router::OnModelState on_state);
  // Cuts off running requests.
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  std::uint16_t port() const { return port_; }
  // The address that it listens on: loopback instead of the setting's, if other machines could otherwise use
  // a server without keys.
  const std::string& host() const { return host_; }
  bool needs_key() const { return directory_->needs_key(); }
  std::vector<router::ModelStatus> models() const { return router_.models(); }

  // Makes /health/ready say that a drain is near, and changes nothing else.
  void announce_drain() { api_.announce_drain(); }
  // Refuses new requests, waits for running ones for as long as the settings allow, then cuts them off.
  // False: some were cut off.
  bool drain(api::Api::Drain why = api::Api::Drain::stop);
  // Adds the restarts before this process to the metrics.
  void count_restarts(int num_restarts);

 private:
  // What the settings ask of models, by model name.
  struct Asked {
    std::vector<std::string> started_with;
    std::map<std::string, double> gpu_shares;
    std::map<std::string, double> slo_ttft_ms;
    std::map<std::string, double> slo_tpot_ms;
  };
  struct Opened {
    hub::Library library;
    Asked asked;
    std::unique_ptr<store::Store> store;
    std::unique_ptr<tenancy::Directory> directory;
    std::shared_ptr<tenancy::Counters> counters;
    std::unique_ptr<meter::Meter> meter;
    std::unique_ptr<tool::Toolbox> tools;
    std::unique_ptr<upstream::Upstreams> upstreams;
    ops::Isa isa;
    std::optional<TraceExporter::Options> traces;
  };
  Gateway(const config::Settings& settings, Opened opened, hub::ProgressSink& progress,
          const router::OnModelState& on_state);
  // Null if the models are in other processes.
  std::unique_ptr<host::LocalLoader> make_loader(Asked asked, hub::ProgressSink& progress);
  std::unique_ptr<router::Residence> make_residence(const router::OnModelState& on_state);
  // Checks the names of models in the settings.
  static base::Result<Asked> check_models(const config::Settings& settings, const hub::Library& library);
  base::Status serve(router::OnModelState on_state);
  base::Status listen();
  base::Status start_models(router::OnModelState on_state);
  void observe_memory();
  // The number of models in this process, or of workers elsewhere. Each has a queue of its own.
  int num_engines() const;

  const config::Settings settings_;
  const std::string host_;
  const hub::Library library_;
  base::RealClock clock_;
  obs::Registry registry_;
  obs::ProcessMetrics process_metrics_;
  obs::Tracer tracer_;
  ops::ComputePool pool_;
  router::Router router_{{.policy = settings_.route_policy,
                          .prefill = router::prefill_rule_named(settings_.route_prefill),
                          .roles_window_s = settings_.route_roles_window_s,
                          .index_bytes = static_cast<std::size_t>(settings_.route_index_mb) << 20,
                          .seed = api::draw_seed()}};  // gateways with one seed would pick alike
  fleet::WorkerBoard board_;                           // empty without workers elsewhere
  const std::unique_ptr<upstream::Upstreams> upstreams_;
  std::unique_ptr<host::LocalLoader> loader_;     // null with workers elsewhere
  std::unique_ptr<router::Residence> residence_;  // null with workers elsewhere
  std::shared_ptr<audit::Auditor> auditor_;       // null without workers elsewhere
  std::unique_ptr<RemoteModels> remote_models_;   // null without workers elsewhere
  tenancy::Admission admission_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<tenancy::Directory> directory_;
  std::unique_ptr<meter::Meter> meter_;
  std::unique_ptr<tool::Toolbox> tools_;
  api::Api api_;
  std::unique_ptr<TraceExporter> trace_exporter_;  // null: traces are not exported
  std::unique_ptr<net::HttpServer> server_;
  std::vector<obs::Observation> server_observations_;
  std::uint16_t port_ = 0;
};

}  // namespace kvasir::gateway

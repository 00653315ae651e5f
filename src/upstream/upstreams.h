#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "config/upstream_config.h"
#include "obs/registry.h"
#include "upstream/checks.h"
#include "upstream/pool.h"
#include "upstream/running_calls.h"

namespace kvasir::upstream {

// All upstreams of the settings. Thread-safe; outlives the calls.
class Upstreams {
 public:
  // Reads the keys. The clock outlives it.
  static base::Result<std::unique_ptr<Upstreams>> open(const std::vector<config::UpstreamConfig>& configs,
                                                       const base::Clock& clock);
  ~Upstreams();
  Upstreams(const Upstreams&) = delete;
  Upstreams& operator=(const Upstreams&) = delete;

  // Shows the upstreams in the metrics. The registry outlives it.
  void observe(obs::Registry& registry);
  // Begins the checks. Before its first check an upstream takes no requests.
  void start();
  // Ends the checks, and ends the running calls with an error. The calls' executors must still run.
  void stop();
  // Call it when the calls' executors have stopped.
  void close_connections();

  // In the order of the settings.
  const std::vector<std::shared_ptr<Pool>>& pools() const { return pools_; }
  // The pool for a name; null: no upstream answers for it.
  std::shared_ptr<Pool> find(std::string_view name) const;
  RunningCalls& running() { return running_; }

 private:
  Upstreams() = default;

  std::vector<std::shared_ptr<Pool>> pools_;
  RunningCalls running_;
  std::vector<std::unique_ptr<Checks>> checks_;
  std::vector<obs::Observation> observations_;
};

}  // namespace kvasir::upstream

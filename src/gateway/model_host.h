#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "config/settings.h"
#include "engine/embed_worker.h"
#include "engine/local_worker.h"
#include "gateway/gpu_plan.h"
#include "gateway/loading_turn.h"
#include "hub/library.h"
#include "hub/pull.h"
#include "model/decoder/device_decoder.h"
#include "obs/registry.h"
#include "ops/cpu/compute_pool.h"
#include "router/router.h"

namespace kvasir::gateway {

// Called whenever a model's state changes, on the thread that loads it or on its engine's thread.
using OnModelState = std::function<void(const std::string& name, const router::ModelState& state)>;

// Objects that all models of this process share. They outlive the hosts.
struct HostSurroundings {
  const config::Settings& settings;
  router::Router& router;
  ops::ComputePool& pool;
  obs::Registry& registry;
  const base::Clock& clock;
  LoadingTurn& loading_turn;
  hub::ProgressSink& progress;
  OnModelState on_state;
  GpuPlan* gpu_plan = nullptr;  // null: no model divides a GPU's free memory
  std::map<std::string, double> gpu_shares = {};
  std::map<std::string, double> slo_ttft_ms = {};  // by model; 0: what the device can reach
  std::map<std::string, double> slo_tpot_ms = {};
};

// One model of this process, which the router knows by name from the beginning. A thread of its own pulls
// missing files, loads the model, starts the engine and tells the router; then the host holds the worker. A
// failure becomes the model's state and affects no other model. An engine that fails later leaves the state
// `restarting`, on which the owner of the process acts.
class ModelHost {
 public:
  ModelHost(hub::Model model, HostSurroundings surroundings);
  // The router must no longer hand out the worker, and no lease may exist.
  ~ModelHost();
  ModelHost(const ModelHost&) = delete;
  ModelHost& operator=(const ModelHost&) = delete;

  // Begins to load. Call it once.
  void start();
  // Stops loading, and ends the engine's requests with an error. No event is sent after it returns.
  void stop();

 private:
  class PullProgress;

  bool is_here() const;
  bool needs_network() const;
  void bring_up(const std::stop_token& stop);
  base::Result<router::ServedModel> open(const std::stop_token& stop);
  base::Result<std::filesystem::path> fetch(const std::stop_token& stop);
  base::Result<router::ServedModel> load(const std::filesystem::path& path, const std::stop_token& stop);
  // Waits for the other models on the GPU, then reserves this model's KV blocks.
  base::Status reserve_kv(model::DeviceDecoder& decoder, const std::stop_token& stop);
  // Measures the device, and sets the options for the SLOs that it can reach.
  base::Status choose_slo(engine::Runner& runner, sched::SchedulerOptions& options) const;
  base::Result<router::ServedModel> load_encoder(const std::filesystem::path& path);
  void set_state(router::ModelState state);
  void tell_failure(const base::Error& failure);

  const hub::Model model_;
  const HostSurroundings around_;
  std::mutex mutex_;
  std::shared_ptr<engine::LocalWorker> worker_;    // guarded by mutex_; null until loaded, and for encoders
  std::shared_ptr<engine::EmbedWorker> embedder_;  // guarded by mutex_; null unless an encoder is loaded
  std::vector<obs::Observation> observations_;     // of the worker; touched by the loading thread only
  bool joined_gpu_plan_ = false;                   // touched by the loading thread only
  std::string cut_;  // why its context is shorter than asked for; touched by the loading thread only
  std::jthread thread_;
};

}  // namespace kvasir::gateway

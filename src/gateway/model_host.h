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
#include "hub/library.h"
#include "hub/pull.h"
#include "model/device_decoder.h"
#include "obs/registry.h"
#include "ops/compute_pool.h"
#include "router/router.h"

namespace kvasir::gateway {

// Told whenever a model's state changes, from the thread that brings it up or from its engine's.
using OnModelState = std::function<void(const std::string& name, const router::ModelState& state)>;

// What every model of this process shares; all outlive the hosts.
struct HostSurroundings {
  const config::Settings& settings;
  router::Router& router;
  ops::ComputePool& pool;
  obs::Registry& registry;
  const base::Clock& clock;
  hub::ProgressSink& progress;
  OnModelState on_state;
  GpuPlan* gpu_plan = nullptr;  // null: no model asks how much of a GPU's memory it gets
  std::map<std::string, double> gpu_shares = {};
  std::map<std::string, double> slo_ttft_ms = {};  // of each model; 0: what the device can reach
  std::map<std::string, double> slo_tpot_ms = {};
};

// One model of this process: brings it up in a thread of its own (pull what is missing, load, start the
// engine, tell the router), then holds its worker. A failure is the model's state and nobody else's trouble;
// an engine that fails later leaves it `restarting`, which is the owner of the process to see to.
class ModelHost {
 public:
  ModelHost(hub::Model model, HostSurroundings surroundings);
  // The router no longer hands out the worker; leases that exist must be gone.
  ~ModelHost();
  ModelHost(const ModelHost&) = delete;
  ModelHost& operator=(const ModelHost&) = delete;

  // Ends the bringing up, and what the engine runs with an error to its readers. No event is sent after it.
  void stop();

 private:
  class PullProgress;

  bool is_here() const;
  bool needs_network() const;
  void bring_up(const std::stop_token& stop);
  base::Result<router::ServedModel> open(const std::stop_token& stop);
  base::Result<std::filesystem::path> fetch(const std::stop_token& stop);
  base::Result<router::ServedModel> load(const std::filesystem::path& path, const std::stop_token& stop);
  // Waits for the other models on the GPU.
  base::Status reserve_kv(model::DeviceDecoder& decoder, const std::stop_token& stop);
  // Tries the device out, and has steps chosen for the SLOs that it can reach.
  base::Status choose_slo(engine::Runner& runner, sched::SchedulerOptions& options) const;
  base::Result<router::ServedModel> load_encoder(const std::filesystem::path& path);
  void set_state(router::ModelState state);
  void tell_failure(const base::Error& failure);

  const hub::Model model_;
  const HostSurroundings around_;
  std::mutex mutex_;
  std::shared_ptr<engine::LocalWorker> worker_;    // guarded by mutex_; null until loaded, or an encoder
  std::shared_ptr<engine::EmbedWorker> embedder_;  // guarded by mutex_; null unless a loaded encoder
  std::vector<obs::Observation> observations_;     // of the worker; touched by the thread, then by nobody
  bool joined_gpu_plan_ = false;                   // touched by the thread only
  std::string cut_;  // why its context is shorter than was asked for; touched by the thread only
  std::jthread thread_;
};

}  // namespace kvasir::gateway

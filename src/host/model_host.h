#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "config/settings.h"
#include "engine/embed_worker.h"
#include "engine/local_worker.h"
#include "host/surroundings.h"
#include "hub/library.h"
#include "hub/pull.h"
#include "model/decoder/device_decoder.h"
#include "obs/registry.h"
#include "ops/cpu/compute_pool.h"
#include "router/host.h"
#include "router/router.h"

namespace kvasir::host {

// One model of this process. One thread pulls missing files; another loads the model and starts the engine;
// then the host holds the worker. Each change of its state goes to `reports`.
class ModelHost final : public router::Host {
 public:
  ModelHost(hub::Model model, router::HostReports& reports, HostSurroundings surroundings);
  ~ModelHost() override;
  ModelHost(const ModelHost&) = delete;
  ModelHost& operator=(const ModelHost&) = delete;

  void fetch() override;
  void load() override;
  void stop() override;

 private:
  class PullProgress;

  void or_failed(const std::function<void()>& work);
  void run_fetch(const std::stop_token& stop);
  void run_load(const std::stop_token& stop);
  base::Result<router::ServedModel> open(const std::stop_token& stop);
  base::Result<router::ServedModel> load_decoder(const std::stop_token& stop);
  // Waits for the other models on the GPU, then reserves this model's KV blocks.
  base::Status reserve_kv(model::DeviceDecoder& decoder, const std::stop_token& stop);
  // Measures the device, and sets the options to SLOs that it can reach.
  base::Status choose_slo(engine::Runner& runner, sched::SchedulerOptions& options) const;
  base::Result<router::ServedModel> load_encoder();
  void count_load(std::string_view outcome, double seconds);

  const hub::Model model_;
  router::HostReports& reports_;
  const HostSurroundings around_;
  std::mutex mutex_;
  std::shared_ptr<engine::LocalWorker> worker_;    // guarded by mutex_; null until loaded, and for encoders
  std::shared_ptr<engine::EmbedWorker> embedder_;  // guarded by mutex_; null unless an encoder is loaded
  std::vector<obs::Observation> observations_;     // of the worker; touched by the loading thread only
  bool joined_gpu_plan_ = false;                   // touched by the loading threads only
  router::ModelMemory memory_;                     // touched by the loading thread only
  std::string cut_;  // why the context is shorter than asked for; touched by the loading thread only
  std::jthread thread_;
};

// Estimates the bytes that a model will use, from the size of its files and the settings.
std::int64_t estimate_memory(const hub::Model& model, const config::Settings& settings);

}  // namespace kvasir::host

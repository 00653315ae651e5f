#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>

#include "base/result.h"
#include "engine/runner.h"
#include "engine/step_footprint.h"
#include "host/surroundings.h"
#include "model/decoder/device_decoder.h"
#include "model/loaded_model.h"
#include "router/host.h"

namespace kvasir::host {

// A model and the runner of its steps.
struct LoadedDecoder {
  model::Speech speech;
  std::unique_ptr<engine::Runner> runner;
  model::ModelConfig config;
  int num_blocks = 0;
  engine::StepFootprint footprint = {};
  double peak_bytes_per_s = 0;  // of the device's memory
  router::ModelMemory memory = {};
};

// Reserves the KV blocks of a model on a GPU, after its weights are loaded.
using ReserveKv = std::function<base::Status(model::DeviceDecoder&)>;

base::Result<LoadedDecoder> load_on_cpu(const std::filesystem::path& path, const HostSurroundings& around,
                                        const std::stop_token& stop);
base::Result<LoadedDecoder> load_on_cuda(const std::filesystem::path& path, const HostSurroundings& around,
                                         const ReserveKv& reserve_kv, const std::stop_token& stop);

}  // namespace kvasir::host

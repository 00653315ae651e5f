#include "host/local_loader.h"

#include <utility>

#include "model/decoder/device_decoder.h"

namespace kvasir::host {

namespace {

std::shared_ptr<GpuPlan> make_plan(const config::Settings& settings, std::size_t num_models) {
  if (settings.device != "cuda" || settings.kv_memory_mb > 0) return nullptr;
  return std::make_shared<GpuPlan>(
      GpuPlan::Options{.num_models = static_cast<int>(num_models),
                       .context = settings.max_context > 0 ? ContextIs::asked_for : ContextIs::as_it_comes,
                       .free_bytes = model::cuda_free_bytes});
}

}  // namespace

LocalLoader::LocalLoader(HostSurroundings surroundings, std::set<std::string> started_with)
    : around_(std::move(surroundings)),
      started_with_(std::move(started_with)),
      plan_(make_plan(around_.settings, started_with_.size())) {}

std::shared_ptr<GpuPlan> LocalLoader::plan_of(const std::string& model) {
  const std::lock_guard lock(mutex_);
  return started_with_.erase(model) > 0 ? plan_ : make_plan(around_.settings, 1);
}

std::unique_ptr<router::Host> LocalLoader::make_host(const hub::Model& model, router::HostReports& reports) {
  HostSurroundings around = around_;
  around.gpu_plan = plan_of(model.name);
  return std::make_unique<ModelHost>(model, reports, std::move(around));
}

}  // namespace kvasir::host

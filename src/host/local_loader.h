#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "host/model_host.h"
#include "router/host.h"

namespace kvasir::host {

// Makes the hosts of this process. If the settings do not fix the KV memory of a GPU, the models of the start
// divide the memory that their weights leave. A later model takes what is free then.
class LocalLoader final : public router::Loader {
 public:
  // Each model in `started_with` must get one host before any other model does.
  LocalLoader(HostSurroundings surroundings, std::set<std::string> started_with);

  std::unique_ptr<router::Host> make_host(const hub::Model& model, router::HostReports& reports) override;
  std::int64_t estimate(const hub::Model& model) const override {
    return estimate_memory(model, around_.settings);
  }

 private:
  std::shared_ptr<GpuPlan> plan_of(const std::string& model);

  const HostSurroundings around_;
  std::mutex mutex_;
  std::set<std::string> started_with_;  // models that have no host yet; guarded by mutex_
  std::shared_ptr<GpuPlan> plan_;       // for the models of the start; null: none
};

}  // namespace kvasir::host

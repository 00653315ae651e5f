#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "host/model_host.h"
#include "router/host.h"

namespace kvasir::host {

// Makes the hosts of this process. On a GPU whose memory is not divided by the settings, the models of the
// start divide what their weights leave; a model that comes later takes what is free then.
class LocalLoader final : public router::Loader {
 public:
  // `started_with`: each of them gets one host before any other model does.
  LocalLoader(HostSurroundings surroundings, std::set<std::string> started_with);

  std::unique_ptr<router::Host> make_host(const hub::Model& model, router::HostReports& reports) override;
  std::int64_t estimate(const hub::Model& model) const override {
    return estimate_memory(model, around_.settings);
  }

 private:
  std::shared_ptr<GpuPlan> plan_of(const std::string& model);

  const HostSurroundings around_;
  std::mutex mutex_;
  std::set<std::string> started_with_;  // guarded by mutex_; those without a host yet
  std::shared_ptr<GpuPlan> plan_;       // of the models of the start; null: none
};

}  // namespace kvasir::host

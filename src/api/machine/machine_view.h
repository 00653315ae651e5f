#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/http/service/service.h"
#include "base/json.h"

namespace kvasir::api {

namespace json = boost::json;

// Describes the machine to one watcher. Each step is told once. Used on one executor.
class MachineView {
 public:
  explicit MachineView(Service& service) : service_(service) {}

  // What does not change while the server runs.
  static json::object constants();
  // The state now, and the steps since the last call.
  json::object look();

 private:
  json::object describe(const router::ModelStatus& model);
  // What its workers do, and the steps that were not told yet. Nothing if it has no worker that generates.
  void describe_work(const router::ModelStatus& model, json::object& into);
  void describe_member(const std::vector<router::ModelStatus>& models, const fleet::WorkerStanding& worker,
                       json::object& into);
  json::array describe_fleet(const std::vector<router::ModelStatus>& models);
  json::array describe_upstreams() const;

  Service& service_;
  // The last step that was told of each worker, and of those that were there at the last look.
  using LastSteps = std::map<std::weak_ptr<router::WorkerMember>, std::uint64_t, std::owner_less<>>;
  LastSteps told_;
  LastSteps telling_;
};

}  // namespace kvasir::api

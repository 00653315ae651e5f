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

// Describes the machine to one watcher. Each step is reported once. Used on one executor.
class MachineView {
 public:
  explicit MachineView(Service& service) : service_(service) {}

  // Facts that do not change while the server runs.
  static json::object constants();
  // Returns the state now, and the steps since the last call.
  json::object look();

 private:
  json::object describe(const router::ModelStatus& model);
  // Adds what the model's workers do, and their unreported steps. Adds nothing if no worker of it generates.
  void describe_work(const router::ModelStatus& model, json::object& into);
  void describe_member(const std::vector<router::ModelStatus>& models, const fleet::WorkerStanding& worker,
                       json::object& into);
  json::array describe_fleet(const std::vector<router::ModelStatus>& models);
  json::array describe_upstreams() const;

  Service& service_;
  // The number of each worker's last reported step, for the workers of the last look (`told_`) and of the
  // look in progress (`telling_`).
  using LastSteps = std::map<std::weak_ptr<router::WorkerMember>, std::uint64_t, std::owner_less<>>;
  LastSteps told_;
  LastSteps telling_;
};

}  // namespace kvasir::api

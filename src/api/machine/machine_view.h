#pragma once

#include <cstdint>
#include <map>
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
  void describe_member(const std::vector<router::ModelStatus>& models, const fleet::WorkerStanding& worker,
                       json::object& into);
  json::array describe_fleet(const std::vector<router::ModelStatus>& models);
  json::array describe_upstreams() const;

  Service& service_;
  struct Told {
    std::uint64_t version = 0;  // of the model, whose steps begin anew when it is loaded again
    std::uint64_t last_step = 0;
  };
  std::map<std::string, Told> told_;  // by model
};

}  // namespace kvasir::api

#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "api/http/service.h"
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

  Service& service_;
  std::map<std::string, std::uint64_t> last_steps_;  // by model: the last step that was told
};

}  // namespace kvasir::api

#include "api/ollama/served_name.h"

#include "api/answer/model/auto_model.h"
#include "api/http/caller/caller.h"

namespace kvasir::api {

std::string_view without_latest(std::string_view name) {
  constexpr std::string_view kLatest = ":latest";
  return name.ends_with(kLatest) ? name.substr(0, name.size() - kLatest.size()) : name;
}

std::string meant_name(const Service& service, std::string asked) {
  return service.router.has(asked) ? asked : std::string(without_latest(asked));
}

base::Result<std::string> served_name(const Service& service, const tenancy::Caller& caller,
                                      const std::string& asked) {
  const router::Reach reach = reach_of(caller);
  if (service.router.has(asked, reach)) return asked;
  std::string name(without_latest(asked));
  if (service.router.has(name, reach) || name == kAutoModel) return name;
  return base::Error{base::ErrorCode::not_found,
                     fmt::format("model '{}' not found; GET /api/tags lists those that are served", asked),
                     "model", "model_not_found"};
}

}  // namespace kvasir::api

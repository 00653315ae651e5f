#include "host/slo_setting.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace kvasir::host {

base::Result<std::map<std::string, double>> parse_slo_ms(std::string_view flag,
                                                         const std::vector<std::string>& entries,
                                                         const std::vector<std::string>& models) {
  double for_all = 0;
  std::map<std::string, double> of_model;
  for (const std::string& entry : entries) {
    const std::size_t at = entry.rfind('=');
    const std::string_view number = std::string_view(entry).substr(at == std::string::npos ? 0 : at + 1);
    double ms = 0;
    const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), ms);
    if (problem != std::errc() || end != number.data() + number.size() || !(ms >= 1 && ms <= 3600000))
      return base::error(base::ErrorCode::invalid_argument,
                         "{}: expected NUMBER or NAME=NUMBER with 1 to 3600000, and got '{}'", flag, entry);
    if (at == std::string::npos) {
      for_all = ms;
      continue;
    }
    const std::string name = entry.substr(0, at);
    if (std::ranges::find(models, name) == models.end())
      return base::error(base::ErrorCode::invalid_argument, "{}: no model '{}' is served", flag, name);
    of_model[name] = ms;
  }
  for (const std::string& model : models) of_model.try_emplace(model, for_all);
  of_model[""] = for_all;
  return of_model;
}

}  // namespace kvasir::host

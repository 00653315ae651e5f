#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kvasir::host {

// Parses entries of the form NUMBER or NAME=NUMBER into one value for each model; 0: no value. A model's own
// entry takes precedence over the value for all models, which is also stored under the name "". `flag` is the
// setting's name in errors.
base::Result<std::map<std::string, double>> parse_slo_ms(std::string_view flag,
                                                         const std::vector<std::string>& entries,
                                                         const std::vector<std::string>& models);

}  // namespace kvasir::host

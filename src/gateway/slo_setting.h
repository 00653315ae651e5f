#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace kvasir::gateway {

// What a setting of NUMBER and NAME=NUMBER entries says of each model; 0: nothing. A model's own entry wins
// over the one for all. `flag` is how errors call the setting.
base::Result<std::map<std::string, double>> parse_slo_ms(std::string_view flag,
                                                         const std::vector<std::string>& entries,
                                                         const std::vector<std::string>& models);

}  // namespace kvasir::gateway

#include "model/arch/tensor_names.h"

#include <fmt/format.h>

#include "base/check.h"

namespace kvasir::model {

std::string layer_name(std::string_view pattern, int layer) {
  return fmt::format(fmt::runtime(pattern), layer);
}

std::string expert_name(std::string_view pattern, int layer, int expert) {
  return fmt::format(fmt::runtime(pattern), layer, expert);
}

std::string bias_name(std::string_view weight_name) {
  constexpr std::string_view kSuffix = "weight";
  CHECK(weight_name.ends_with(kSuffix), "{}", weight_name);
  return std::string(weight_name.substr(0, weight_name.size() - kSuffix.size())) + "bias";
}

}  // namespace kvasir::model

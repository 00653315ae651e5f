#include "model/read_sampling.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace kvasir::model {

namespace {

using Find = std::function<std::optional<double>(std::string_view)>;

std::optional<float> in_range(std::optional<double> number, double min, double max) {
  if (!number || !(*number >= min && *number <= max)) return std::nullopt;
  return static_cast<float>(*number);
}

// `find` gets the names of generation_config.json. A number outside the API's range is ignored.
wire::SamplingAdvice advice_of(const Find& find) {
  wire::SamplingAdvice advice;
  advice.temperature = in_range(find("temperature"), 0, 2);
  advice.top_p = in_range(find("top_p"), 0, 1);
  advice.min_p = in_range(find("min_p"), 0, 1);
  advice.repetition_penalty = in_range(find("repetition_penalty"), 0.01, 10);
  if (const auto top_k = in_range(find("top_k"), 0, 1 << 20)) advice.top_k = static_cast<int>(*top_k);
  return advice;
}

}  // namespace

wire::SamplingAdvice read_gguf_sampling(const Metadata& metadata) {
  return advice_of([&](std::string_view name) {
    const std::string_view key = name == "temperature"          ? "general.sampling.temp"
                                 : name == "top_p"              ? "general.sampling.top_p"
                                 : name == "top_k"              ? "general.sampling.top_k"
                                 : name == "min_p"              ? "general.sampling.min_p"
                                 : name == "repetition_penalty" ? "general.sampling.penalty_repeat"
                                                                : "";
    return metadata.number(key);
  });
}

wire::SamplingAdvice read_sampling(const base::json::object& config) {
  const base::json::value* draws = config.if_contains("do_sample");
  if (draws != nullptr && *draws == false) return {};
  return advice_of([&](std::string_view name) -> std::optional<double> {
    const base::json::value* value = config.if_contains(name);
    if (value == nullptr || !value->is_number()) return std::nullopt;
    return value->to_number<double>();
  });
}

}  // namespace kvasir::model

#include "upstream/reported_load.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace kvasir::upstream {

namespace {

constexpr std::array<std::string_view, 8> kCounted = {
    "vllm:num_requests_running",    "vllm:num_requests_waiting",
    "sglang:num_running_reqs",      "sglang:num_queue_reqs",
    "llamacpp:requests_processing", "llamacpp:requests_deferred",
    "llm_sequences_running",        "llm_queue_depth"};
constexpr double kMost = 1e6;

// The value of a line "name{labels} value [time]"; absent if the metric is not counted.
std::optional<double> value_of(std::string_view line) {
  const std::size_t name_end = line.find_first_of("{ ");
  if (name_end == std::string_view::npos) return std::nullopt;
  if (std::ranges::find(kCounted, line.substr(0, name_end)) == kCounted.end()) return std::nullopt;
  line.remove_prefix(name_end);
  if (line.front() == '{') {
    const std::size_t labels_end = line.rfind('}');
    if (labels_end == std::string_view::npos) return std::nullopt;
    line.remove_prefix(labels_end + 1);
  }
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  double value = 0;
  const auto read = std::from_chars(line.data(), line.data() + line.size(), value);
  if (read.ec != std::errc() || !(value >= 0 && value <= kMost)) return std::nullopt;
  return value;
}

}  // namespace

std::optional<int> reported_load(std::string_view metrics) {
  std::optional<double> sum;
  while (!metrics.empty()) {
    const std::size_t end = std::min(metrics.find('\n'), metrics.size());
    if (const auto value = value_of(metrics.substr(0, end))) sum = sum.value_or(0) + *value;
    metrics.remove_prefix(std::min(end + 1, metrics.size()));
  }
  if (!sum) return std::nullopt;
  return static_cast<int>(std::min(*sum, kMost));
}

}  // namespace kvasir::upstream

#include "sim/modelled_device.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

#include "base/check.h"

namespace kvasir::sim {

double DeviceCosts::seconds(const sched::StepLoad& load) const {
  CHECK(points.size() >= 2, "{} points are no line", points.size());
  const int rows = load.num_rows();
  std::size_t i = 1;
  while (i + 1 < points.size() && rows > points[i].rows) ++i;
  const CostPoint &from = points[i - 1], &to = points[i];
  const double rows_s =
      from.seconds + (to.seconds - from.seconds) * (rows - from.rows) / (to.rows - from.rows);
  return rows_s + kv_token_s * static_cast<double>(load.kv_tokens) +
         prefill_kv_token_s * static_cast<double>(load.prefill_kv_tokens);
}

base::Result<std::vector<CostPoint>> parse_cost_points(std::string_view text) {
  const auto wrong = [](std::string_view part) {
    return base::error(base::ErrorCode::invalid_argument,
                       "'{}' is no ROWS:MILLISECONDS, with more rows than the one before", part);
  };
  std::vector<CostPoint> points;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const char* const begin = part.data();
    const char* const end = begin + part.size();
    CostPoint point;
    const auto rows = std::from_chars(begin, end, point.rows);
    if (rows.ec != std::errc() || rows.ptr == end || *rows.ptr != ':') return wrong(part);
    double ms = 0;
    const auto time = std::from_chars(rows.ptr + 1, end, ms);
    const int least = points.empty() ? 1 : points.back().rows + 1;
    if (time.ec != std::errc() || time.ptr != end || !(ms > 0) || point.rows < least) return wrong(part);
    point.seconds = ms / 1e3;
    points.push_back(point);
  }
  if (points.size() < 2)
    return base::error(base::ErrorCode::invalid_argument, "a device needs two points at least");
  return points;
}

DeviceCosts cpu_costs() {
  return {.points = {{1, 0.050}, {8, 0.091}, {16, 0.140}, {32, 0.216}, {64, 0.385}, {512, 2.401}},
          .kv_token_s = 1e-6,
          .prefill_kv_token_s = 1e-6,
          .noise = 0.03};
}

DeviceCosts gpu_costs() {
  return {.points = {{1, 0.0040}, {32, 0.0049}, {128, 0.0055}, {256, 0.0077}, {8192, 0.186}},
          .kv_token_s = 31e-9,
          .prefill_kv_token_s = 1.1e-9,
          .noise = 0.03,
          .overlaps = true};
}

sched::StepCost calibrated_cost(const DeviceCosts& costs, int max_batch_sequences, int max_batch_tokens) {
  constexpr int kRounds = 10;
  constexpr double kLongStepS = 0.5;  // a server's calibration does not try longer steps
  sched::StepCost cost;
  const auto show = [&](int num_computed, int rows, int num_slices) {
    sched::StepLoad load;
    for (int i = 0; i < num_slices; ++i) load.add(num_computed, rows);
    if (costs.seconds(load) <= kLongStepS || cost.num_observed() == 0)
      cost.observe(load, costs.seconds(load));
  };
  for (int round = 0; round < kRounds; ++round) {
    for (int rows = 1; rows <= std::min(max_batch_sequences, 512); rows *= 2) show(0, 1, rows);
    for (int rows = 64; rows <= std::min(max_batch_tokens, 4096); rows *= 4) {
      show(0, rows, 1);
      show(rows, 1, 1);
    }
  }
  return cost;
}

double ModelledDevice::run_s(const sched::StepLoad& load) {
  // Own code, since the distributions of standard libraries differ.
  const double uniform = static_cast<double>(random_() >> 11) * 0x1p-53;
  return costs_.seconds(load) * (1 + costs_.noise * (2 * uniform - 1));
}

}  // namespace kvasir::sim

#include "engine/calibration.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "kv/block.h"
#include "sched/scheduler.h"

namespace kvasir::engine {

namespace {

struct Load {
  int num_sequences = 0;
  int num_tokens = 0;  // per sequence
};

// Single rows come first, since they decide which SLOs the device can reach.
constexpr std::array<Load, 10> kLoads = {
    {{1, 1}, {8, 1}, {32, 1}, {64, 1}, {1, 64}, {1, 256}, {256, 1}, {512, 1}, {1, 1024}, {1, 4096}}};
// A step shorter than this is run twice, since the first step of a shape may have to load or record
// something.
constexpr double kShortStepS = 0.15;
// StepCost is slow to leave its old weights. Seeing all steps this many times makes it follow the
// measurements.
constexpr int kRounds = 10;

class Calibration {
 public:
  Calibration(const CalibrationOptions& options, Runner& runner, const base::Clock& clock)
      : options_(options),
        runner_(runner),
        clock_(clock),
        start_(clock.now()),
        scheduler_({.num_blocks = options.num_blocks,
                    .max_batch_tokens = options.max_batch_tokens,
                    .max_batch_sequences = options.max_batch_sequences,
                    .target_step_s = 0,
                    .prefix_cache = false}) {}

  base::Result<sched::StepCost> run() {
    // The very first step is not counted: it may have to read the weights from the disk, while other models
    // load.
    TRY_OK(measure(kLoads.front(), Keep::never));
    start_ = clock_.now();
    for (const Load& load : kLoads) {
      if (!fits(load)) continue;
      sched::StepLoad step;
      for (int i = 0; i < load.num_sequences; ++i) step.add(0, load.num_tokens);
      if (elapsed_s() + cost_.predict_s(step) > options_.budget_s && cost_.num_observed() > 0) break;
      TRY(const double seconds, measure(load, Keep::unless_short));
      if (seconds < kShortStepS) TRY_OK(measure(load, Keep::always));
    }
    for (int round = 0; round < kRounds; ++round)
      for (const auto& [load, seconds] : seen_) cost_.observe(load, seconds);
    return cost_;
  }

 private:
  enum class Keep { never, unless_short, always };

  double elapsed_s() const { return base::seconds(clock_.now() - start_); }

  bool fits(const Load& load) const {
    const int num_blocks = load.num_sequences * kv::blocks_for(load.num_tokens + 2);
    return load.num_sequences <= options_.max_batch_sequences && num_blocks <= options_.num_blocks &&
           load.num_sequences * load.num_tokens <= options_.max_batch_tokens;
  }

  // Runs the load and returns the time of its first step. If the load is a prompt, a second step decodes
  // after it.
  base::Result<double> measure(const Load& load, Keep keep) {
    for (int i = 0; i < load.num_sequences; ++i) {
      wire::GenerateRequest request;
      request.prompt.assign(static_cast<std::size_t>(load.num_tokens), TokenId{0});
      request.max_tokens = load.num_tokens > 1 ? 2 : 1;
      request.ignore_eos = true;
      request.sampling.temperature = 0;
      TRY_OK(scheduler_.submit(std::move(request)));
    }
    double first_s = -1;
    while (!scheduler_.idle()) {
      const sched::StepPlan plan = scheduler_.plan();
      if (plan.slices.empty())
        return base::error(base::ErrorCode::internal,
                           "a step of {} sequences of {} tokens cannot be tried out", load.num_sequences,
                           load.num_tokens);
      const base::TimePoint start = clock_.now();
      TRY(sched::StepResult result, runner_.run(plan));
      const double seconds = base::seconds(clock_.now() - start);
      if (keep == Keep::always || (keep == Keep::unless_short && seconds >= kShortStepS)) {
        seen_.emplace_back(plan.load, seconds);
        cost_.observe(plan.load, seconds);
      }
      if (first_s < 0) first_s = seconds;
      scheduler_.commit(plan, std::move(result));
    }
    return first_s;
  }

  const CalibrationOptions options_;
  Runner& runner_;
  const base::Clock& clock_;
  base::TimePoint start_;
  sched::Scheduler scheduler_;
  sched::StepCost cost_;
  std::vector<std::pair<sched::StepLoad, double>> seen_;
};

}  // namespace

base::Result<sched::StepCost> calibrate(const CalibrationOptions& options, Runner& runner,
                                        const base::Clock& clock) {
  return Calibration(options, runner, clock).run();
}

}  // namespace kvasir::engine

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/runner.h"
#include "sched/scheduler.h"
#include "wire/generate_request.h"
#include "wire/token_stream.h"

namespace kvasir::engine {

struct EngineOptions {
  sched::SchedulerOptions scheduler;
  int vocab_size = 0;
  std::vector<TokenId> end_tokens;                        // stop every sequence that does not ignore them
  int max_queue = 512;                                    // requests that have not ended their first step
  int max_backlog_tokens = 1024;                          // sent and not read: more holds the sequence back
  base::Duration stall_after = std::chrono::seconds(60);  // a step that takes longer is no progress
};

// Counters since the start, for metrics.
struct EngineStats {
  sched::SchedulerStats sequences;
  double step_s = 0;            // summed over all steps
  double predicted_s = 0;       // what the cost model said of the same steps
  double absolute_error_s = 0;  // summed over all steps: |real - predicted|
  double last_step_s = 0;
  double last_predicted_s = 0;
};

// What a request is told whose engine has failed: 503, and that it is worth trying again.
base::Error engine_failed();

// The loop's body: one step for all sequences, and the way of their events to their readers. On a runner that
// can start steps, the device has the next one before the last one's tokens are seen here.
// Touched by one thread. The runner and the clock outlive it.
class Engine {
 public:
  Engine(const EngineOptions& options, Runner& runner, const base::Clock& clock);

  // A request that could never be served ends with an error event, and so does one after a failure.
  void submit(wire::GenerateRequest request, std::shared_ptr<wire::TokenStream> stream);
  // Runs or starts one step, and takes in what the one before gave. False when there was nothing to do: no
  // sequences, or none whose reader keeps up. Where the device fails, every sequence ends with an error.
  bool step();
  // Ends every sequence with this error.
  void fail_all(const base::Error& error);

  // What the device said when it failed. Nothing is computed after it.
  const std::optional<base::Error>& failure() const { return failure_; }
  bool idle() const { return readers_.empty() && !in_flight_; }
  const sched::Scheduler& scheduler() const { return scheduler_; }
  EngineStats stats() const;

 private:
  struct Reader {
    std::shared_ptr<wire::TokenStream> stream;
    bool is_behind = false;  // and its sequence held
  };

  void watch_readers();
  void run(const sched::StepPlan& plan);
  // Starts the plan; the step before ends meanwhile.
  void start(sched::StepPlan plan);
  void collect();
  void fail(base::Error error);
  void count(const sched::StepPlan& plan, double seconds);
  void deliver(std::vector<sched::SequenceEvent> events);

  EngineOptions options_;
  Runner& runner_;
  const base::Clock& clock_;
  sched::Scheduler scheduler_;
  std::map<sched::SequenceId, Reader> readers_;  // of the live sequences
  std::optional<sched::StepPlan> in_flight_;     // started; only ids and sizes in it are still good
  base::TimePoint last_end_;                     // of a step that was started
  std::optional<base::Error> failure_;
  EngineStats stats_;
};

}  // namespace kvasir::engine

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/runner.h"
#include "engine/step_footprint.h"
#include "engine/step_log.h"
#include "sched/scheduler.h"
#include "seam/token_stream.h"
#include "wire/generate_request.h"

namespace kvasir::engine {

struct EngineOptions {
  sched::SchedulerOptions scheduler;
  int vocab_size = 0;
  std::vector<TokenId> end_tokens;                        // end every sequence that does not ignore them
  int max_queue = 512;                                    // requests that have not finished their first step
  int max_backlog_tokens = 1024;                          // sent and not read; a sequence with more is held
  base::Duration stall_after = std::chrono::seconds(60);  // a step that takes longer counts as a stall
  StepFootprint footprint = {};
};

// Counters since the start, for metrics.
struct EngineStats {
  sched::SchedulerStats sequences;
  double plan_s = 0;  // this and the next fields are sums over all steps
  double step_s = 0;  // without planning and committing
  double commit_s = 0;
  double predicted_s = 0;       // predicted by the cost model for the same steps
  double absolute_error_s = 0;  // |real - predicted|
  StepWork work = {};
  double last_step_s = 0;
  double last_predicted_s = 0;
  int last_batch = 0;  // sequences of the last step
  // Cover about the last ten seconds of running; older steps fade.
  StepWork recent_work = {};
  double recent_s = 0;
};

// The error of requests whose engine has failed: a 503 that says that a retry may help.
base::Error engine_failed();

// Runs steps for all sequences and sends their events to their readers. On a runner that can start steps, the
// device gets the next step before the engine has seen the tokens of the last one. Touched by one thread. The
// runner and the clock outlive it.
class Engine {
 public:
  Engine(const EngineOptions& options, Runner& runner, const base::Clock& clock);

  // A request on its way to the engine.
  struct Arrival {
    wire::GenerateRequest request;  // with the model's end tokens
    sched::Resumption resumption;
    std::shared_ptr<seam::TokenStream> stream;
    base::TimePoint at;  // when it began to wait
  };
  // Does the part of the work that needs no engine, so that it takes none of the engine thread's time. Fails
  // if the request could not go on after its resumed output.
  static base::Result<Arrival> prepare(const EngineOptions& options, wire::GenerateRequest request,
                                       std::shared_ptr<seam::TokenStream> stream, base::TimePoint at);

  // A request that could never be served, or that comes after a failure, ends with an error event.
  void submit(Arrival arrival);
  void submit(wire::GenerateRequest request, std::shared_ptr<seam::TokenStream> stream,
              base::TimePoint arrived);
  void submit(wire::GenerateRequest request, std::shared_ptr<seam::TokenStream> stream) {
    submit(std::move(request), std::move(stream), clock_.now());
  }
  // Runs or starts one step, and processes the results of the one before. False if there was nothing to do:
  // no sequences, or all readers are behind. If the device fails, every sequence ends with an error.
  bool step();
  // Ends every sequence with this error.
  void fail_all(const base::Error& error);

  void publish_to(std::shared_ptr<kv::PublishedBlocks> index) { scheduler_.publish_to(std::move(index)); }

  // The device's error, if it failed. Nothing is computed after that.
  const std::optional<base::Error>& failure() const { return failure_; }
  // The state that a new request would meet. `on_begun` is called after a step has begun, which changes that
  // state.
  sched::Outlook outlook() const;
  void on_begun(std::function<void()> callback) { on_begun_ = std::move(callback); }
  // Records the steps while the log is watched. The log outlives the engine.
  void record_to(StepLog& log) { log_ = &log; }
  bool idle() const { return readers_.empty() && !in_flight_; }
  const sched::Scheduler& scheduler() const { return scheduler_; }
  EngineStats stats() const;

 private:
  struct Reader {
    std::shared_ptr<seam::TokenStream> stream;
    bool is_behind = false;  // its sequence is held
  };

  void watch_readers();
  void run(const sched::StepPlan& plan, std::optional<wire::StepRecord> record);
  // Starts the plan, collects the step before it, and draws.
  void start(sched::StepPlan plan, std::optional<wire::StepRecord> record);
  void collect();
  void begin(const sched::StepPlan& plan);
  void fail(base::Error error);
  void count(const sched::StepPlan& plan, double seconds);
  void finish(const sched::StepPlan& plan, sched::StepResult result, std::optional<wire::StepRecord> record);
  static void hand_out(const sched::StepPlan& plan, sched::StepResult& result);
  void deliver(std::vector<sched::SequenceEvent> events);

  EngineOptions options_;
  Runner& runner_;
  const base::Clock& clock_;
  sched::Scheduler scheduler_;
  std::map<sched::SequenceId, Reader> readers_;       // of the live sequences
  std::optional<sched::StepPlan> in_flight_;          // started; only its ids and sizes are still valid
  StepLog* log_ = nullptr;                            // null: nobody ever watches
  std::optional<wire::StepRecord> in_flight_record_;  // of the same step, if it is recorded
  base::TimePoint last_end_;                          // when the last started step ended
  std::function<void()> on_begun_;
  double begun_s_ = 0;  // predicted time of the step that begins; set during on_begun_
  std::optional<base::Error> failure_;
  EngineStats stats_;
};

}  // namespace kvasir::engine

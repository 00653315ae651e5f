#include "engine/engine_thread.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace kvasir::engine {

namespace {

// Readers do not wake the engine when they drain or cancel. While all sequences are held, it polls this
// often.
constexpr auto kHeldPoll = std::chrono::milliseconds(2);

// How often the sequences are listed for those who watch.
constexpr auto kLiveInterval = std::chrono::milliseconds(200);

base::Error shutting_down() {
  return {base::ErrorCode::unavailable, "the server is shutting down", {}, "server_draining", 5};
}

sched::WaitingLine as_line(const wire::GenerateRequest& request) {
  const std::size_t num_coming = request.arriving ? request.arriving->end() * kv::kBlockTokens : 0;
  return {.tenant = sched::tenant_hash(request.origin.tenant),
          .priority = request.priority,
          .weight = static_cast<double>(request.origin.weight),
          .num_tokens = static_cast<double>(request.prompt.size() - num_coming + request.resumed.size()),
          .num_sequences = 1};
}

}  // namespace

EngineThread::EngineThread(const EngineOptions& options, std::unique_ptr<Runner> runner,
                           const base::Clock& clock, OnFailure on_failure)
    : options_(options),
      runner_(std::move(runner)),
      clock_(clock),
      on_failure_(std::move(on_failure)),
      log_(clock),
      last_progress_(clock.now()) {
  report_.num_blocks = report_.num_free_blocks = options.scheduler.num_blocks;
  thread_ = std::thread([this] { loop(); });
}

EngineThread::~EngineThread() {
  stop();
}

void EngineThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

base::Result<seam::TokenReader> EngineThread::submit(wire::GenerateRequest request,
                                                     boost::asio::any_io_executor reader) {
  TRY_OK(check(request));
  auto stream = std::make_shared<seam::TokenStream>(std::move(reader));
  TRY(Engine::Arrival arrival, Engine::prepare(options_, std::move(request), stream, clock_.now()));
  {
    const std::lock_guard lock(mutex_);
    if (report_.failed) return engine_failed();
    if (draining_ || stopping_) return shutting_down();
    const int num_waiting = report_.num_waiting + static_cast<int>(inbox_.size());
    if (num_waiting >= options_.max_queue)
      return base::Error{
          base::ErrorCode::exhausted,
          fmt::format(
              "the server is full: {} of {} places are taken, and the request needs 1; try again later",
              num_waiting, options_.max_queue),
          {},
          "rate_limit_exceeded",
          1};
    arrived_.push_back(as_line(arrival.request));
    inbox_.push_back(std::move(arrival));
  }
  wake_.notify_one();
  return seam::TokenReader(std::move(stream));
}

base::Status EngineThread::check(const wire::GenerateRequest& request) const {
  TRY_OK(sched::check_fits(options_.scheduler, request));
  if (request.num_prompt_logprobs && !runner_->gives_prompt_logprobs())
    return base::Error{base::ErrorCode::unsupported,
                       "this model's device does not tell the logprobs of prompts", "logprobs",
                       "unsupported_parameter"};
  if ((request.outlet || request.arriving) && runner_->block_form().name.empty())
    return base::error(base::ErrorCode::unsupported, "this model's device lets no KV in or out");
  const auto is_bad = [this](TokenId id) { return id < 0 || id >= options_.vocab_size; };
  for (const std::vector<TokenId>* tokens : {&request.prompt, &request.resumed})
    if (const auto bad = std::ranges::find_if(*tokens, is_bad); bad != tokens->end())
      return base::error(base::ErrorCode::invalid_argument, "token {} is not in the vocabulary of {}", *bad,
                         options_.vocab_size);
  return base::ok();
}

void EngineThread::drain() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
}

bool EngineThread::idle() const {
  const std::lock_guard lock(mutex_);
  return inbox_.empty() && report_.num_running == 0 && report_.num_waiting == 0;
}

wire::WorkerReport EngineThread::report() const {
  const std::lock_guard lock(mutex_);
  wire::WorkerReport report = report_;
  report.num_waiting += static_cast<int>(inbox_.size());
  for (const Engine::Arrival& arrival : inbox_) ++report.waiting[arrival.request.priority];
  const bool busy = report.num_waiting + report.num_running > 0;
  const base::Duration silent = clock_.now() - last_progress_;
  report.progressing = !report.failed && (!busy || silent <= options_.stall_after);
  if (busy || report.failed) report.heartbeat_age_s = base::seconds(silent);
  return report;
}

seam::Prospect EngineThread::prospect() const {
  const std::lock_guard lock(mutex_);
  return {outlook_, arrived_, base::seconds(clock_.now() - outlook_at_)};
}

wire::Forecast EngineThread::forecast(const wire::Outline& outline) const {
  const seam::Prospect prospect = this->prospect();
  if (!prospect.outlook) return {};
  const int num_blocks = outline.prompt_blocks && !outline.num_cached_tokens
                             ? published_->num_published(*outline.prompt_blocks)
                             : 0;
  const int num_cached = outline.num_cached_tokens.value_or(num_blocks * kv::kBlockTokens);
  return sched::forecast(*prospect.outlook, prospect.arrived, outline, num_cached, prospect.age_s);
}

EngineStats EngineThread::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

wire::Activity EngineThread::activity(std::uint64_t after_step) {
  wire::Activity activity;
  activity.steps = log_.read(after_step);
  const std::lock_guard lock(mutex_);
  activity.now_s = base::seconds(clock_.now().time_since_epoch());
  const sched::SchedulerStats& sums = stats_.sequences;
  activity.counters = {.steps = sums.num_steps,
                       .prefill_tokens = sums.num_prefill_tokens,
                       .decode_tokens = sums.num_decode_tokens,
                       .cached_tokens = sums.num_cached_tokens,
                       .output_tokens = sums.num_output_tokens,
                       .preemptions = sums.num_preemptions,
                       .finished = sums.num_finished,
                       .failed = sums.num_failed,
                       .aborted = sums.num_aborted,
                       .step_s = stats_.step_s};
  activity.sequences = live_;
  return activity;
}

void EngineThread::watch_blocks(std::shared_ptr<seam::BlockSink> sink) {
  reporter_.watch(std::move(sink));
  {
    const std::lock_guard lock(mutex_);
  }  // the thread now waits, or looks for news before it waits
  wake_.notify_one();
}

void EngineThread::loop() {
  Engine engine(options_, *runner_, clock_);
  engine.record_to(log_);
  engine.publish_to(published_);
  engine.on_begun([this, &engine] {
    const std::unique_lock lock(mutex_);
    take_outlook(engine, lock);
  });
  while (await_work(engine) == Wake::step) {
    const bool had_failed = engine.failure().has_value();
    const bool ran = engine.step();
    {
      const std::unique_lock lock(mutex_);
      last_step_was_empty_ = !ran;
      take_snapshot(engine, lock);
    }
    reporter_.tell();
    if (engine.failure() && !had_failed && on_failure_) on_failure_(*engine.failure());
  }
  engine.fail_all(shutting_down());
  const std::unique_lock lock(mutex_);
  take_snapshot(engine, lock);
}

EngineThread::Wake EngineThread::await_work(Engine& engine) {
  std::unique_lock lock(mutex_);
  const auto has_news = [this] { return stopping_ || !inbox_.empty() || reporter_.has_news(); };
  if (engine.idle()) {
    take_outlook(engine, lock);
    wake_.wait(lock, has_news);
    last_progress_ = clock_.now();
  } else if (last_step_was_empty_) {
    wake_.wait_for(lock, kHeldPoll, has_news);
  }
  for (Engine::Arrival& arrival : std::exchange(inbox_, {})) engine.submit(std::move(arrival));
  arrived_.clear();
  take_snapshot(engine, lock);
  return stopping_ ? Wake::stop : Wake::step;
}

void EngineThread::take_outlook(const Engine& engine, const std::unique_lock<std::mutex>& lock) {
  CHECK(lock.owns_lock(), "an outlook without its lock");
  outlook_ = std::make_shared<const sched::Outlook>(engine.outlook());
  outlook_at_ = clock_.now();
}

void EngineThread::take_snapshot(const Engine& engine, const std::unique_lock<std::mutex>& lock) {
  CHECK(lock.owns_lock(), "a snapshot without its lock");
  const sched::Scheduler& scheduler = engine.scheduler();
  report_.num_free_blocks = scheduler.pool().num_available();
  report_.num_cached_blocks = scheduler.pool().num_cached();
  report_.num_running = scheduler.num_running();
  report_.num_waiting = scheduler.num_waiting();
  report_.waiting = scheduler.waiting_by_priority();
  report_.failed = engine.failure().has_value();
  stats_ = engine.stats();
  report_.busy_s = stats_.sequences.busy_s;
  report_.long_prompts_s = stats_.sequences.long_prompts_s;
  last_progress_ = clock_.now();
  take_live(scheduler, lock);
}

void EngineThread::take_live(const sched::Scheduler& scheduler, const std::unique_lock<std::mutex>& lock) {
  CHECK(lock.owns_lock(), "a list of sequences without its lock");
  if (scheduler.idle() || !log_.is_watched()) {
    live_.clear();
    return;
  }
  const base::TimePoint now = clock_.now();
  if (!live_.empty() && now - live_at_ < kLiveInterval) return;
  live_ = scheduler.live();
  live_at_ = now;
}

}  // namespace kvasir::engine

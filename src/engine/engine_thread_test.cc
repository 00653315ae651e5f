#include "engine/engine_thread.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <random>

#include "engine/failing_runner.h"
#include "engine/local_worker.h"
#include "engine/toy_runner_test.h"

namespace kvasir::engine {
namespace {

namespace asio = boost::asio;
using base::ErrorCode;

wire::GenerateRequest request_of(int num_prompt, int max_tokens, TokenId salt = 0) {
  wire::GenerateRequest request;
  for (int i = 0; i < num_prompt; ++i) request.prompt.push_back((i + salt) % ToyRunner::kVocabSize);
  request.max_tokens = max_tokens;
  return request;
}

EngineOptions options_of(int num_blocks, int max_queue = 512) {
  return {.scheduler = {.num_blocks = num_blocks, .max_batch_tokens = 64},
          .vocab_size = ToyRunner::kVocabSize,
          .max_queue = max_queue};
}

// A runner that runs a step only when the test lets it.
class GatedRunner final : public Runner {
 public:
  explicit GatedRunner(int num_blocks) : toy_(num_blocks) {}
  base::Result<sched::StepResult> run(const sched::StepPlan& plan) override {
    arrived_.notify_all();
    {
      std::unique_lock lock(mutex_);
      ++num_arrived_;
      arrived_.notify_all();
      open_.wait(lock, [this] { return is_open_; });
    }
    return toy_.run(plan);
  }
  void await_step() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return num_arrived_ > 0; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    open_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_, open_;
  int num_arrived_ = 0;
  bool is_open_ = false;
  ToyRunner toy_;
};

asio::awaitable<wire::TokenEvent> read_last(seam::TokenReader stream) {
  for (;;) {
    std::optional<wire::TokenEvent> event = co_await stream->next(std::chrono::minutes(1));
    if (event && event->last()) co_return *std::move(event);
  }
}

wire::TokenEvent last_of(asio::io_context& io, seam::TokenReader stream) {
  std::future<wire::TokenEvent> event = asio::co_spawn(io, read_last(std::move(stream)), asio::use_future);
  io.restart();
  io.run();
  return event.get();
}

TEST(EngineThread, WakesForARequestAndFinishesIt) {
  asio::io_context io;
  base::RealClock clock;
  EngineThread thread(options_of(32), std::make_unique<ToyRunner>(32), clock);
  for (int i = 0; i < 3; ++i) {
    const wire::TokenEvent end = last_of(io, thread.submit(request_of(20, 5), io.get_executor()).value());
    EXPECT_EQ(end.usage.output_tokens, 5);
    EXPECT_EQ(end.usage.cached_tokens, i == 0 ? 0 : 19);
  }
}

TEST(EngineThread, RefusesAtOnceWhatItCannotServe) {
  asio::io_context io;
  base::RealClock clock;
  auto gated = std::make_unique<GatedRunner>(4);
  GatedRunner& gate = *gated;
  EngineThread thread(options_of(4, 3), std::move(gated), clock);
  const auto code = [&](wire::GenerateRequest request) {
    return thread.submit(std::move(request), io.get_executor()).error().code;
  };
  EXPECT_EQ(code(request_of(60, 6)), ErrorCode::too_large);
  EXPECT_EQ(code(request_of(1, INT32_MAX)), ErrorCode::too_large);
  EXPECT_EQ(code(request_of(0, 6)), ErrorCode::invalid_argument);
  EXPECT_EQ(code(request_of(10, 0)), ErrorCode::invalid_argument);
  wire::GenerateRequest outside = request_of(10, 1);
  outside.prompt[5] = ToyRunner::kVocabSize;
  EXPECT_EQ(code(outside), ErrorCode::invalid_argument);
  outside.prompt[5] = -1;
  EXPECT_EQ(code(outside), ErrorCode::invalid_argument);

  // One request is in its first step and two wait, so the queue is full.
  std::vector<seam::TokenReader> streams;
  streams.push_back(thread.submit(request_of(40, 6), io.get_executor()).value());
  gate.await_step();
  for (int i = 0; i < 2; ++i)
    streams.push_back(thread.submit(request_of(40, 6, 100 * i), io.get_executor()).value());
  EXPECT_EQ(code(request_of(10, 1)), ErrorCode::exhausted);
  EXPECT_EQ(thread.report().num_waiting, 3);

  thread.drain();
  EXPECT_EQ(code(request_of(10, 1)), ErrorCode::unavailable);
  EXPECT_FALSE(thread.idle());
  gate.open();
  for (auto& stream : streams) EXPECT_EQ(last_of(io, std::move(stream)).finish, wire::FinishReason::length);
  while (!thread.idle()) std::this_thread::yield();
  EXPECT_EQ(thread.report().num_free_blocks, 4);
}

TEST(EngineThread, StoppingEndsWhatIsThere) {
  asio::io_context io;
  base::RealClock clock;
  std::vector<seam::TokenReader> streams;
  {
    auto gated = std::make_unique<GatedRunner>(8);
    GatedRunner& gate = *gated;
    EngineThread thread(options_of(8), std::move(gated), clock);
    streams.push_back(thread.submit(request_of(40, 80), io.get_executor()).value());
    gate.await_step();
    streams.push_back(thread.submit(request_of(40, 80), io.get_executor()).value());
    gate.open();
  }
  for (auto& stream : streams) {
    const wire::TokenEvent end = last_of(io, std::move(stream));
    EXPECT_TRUE(end.finish || end.error->code == ErrorCode::unavailable);
  }
}

TEST(EngineThread, TellsAWatcherWhatRuns) {
  const base::RealClock clock;
  asio::io_context io;
  auto gated = std::make_unique<GatedRunner>(64);
  GatedRunner& gate = *gated;
  LocalWorker worker(options_of(64), std::move(gated), clock);
  EXPECT_TRUE(worker.activity(0).sequences.empty());
  wire::GenerateRequest request = request_of(20, 4);
  request.origin = {.request_id = "r-1", .tenant = "acme"};
  auto stream = worker.generate(std::move(request), io.get_executor());
  ASSERT_TRUE(stream.ok());
  gate.await_step();
  const wire::Activity during = worker.activity(0);
  ASSERT_EQ(during.sequences.size(), 1);
  EXPECT_EQ(during.sequences[0].request_id, "r-1");
  EXPECT_EQ(during.sequences[0].tenant, "acme");
  EXPECT_EQ(during.sequences[0].num_prompt, 20);
  gate.open();
  last_of(io, std::move(*stream));
  while (!worker.idle()) std::this_thread::yield();
  const wire::Activity after = worker.activity(0);
  EXPECT_TRUE(after.sequences.empty());
  EXPECT_EQ(after.steps.size(), 4);
  EXPECT_EQ(after.counters.output_tokens, 4);
  EXPECT_TRUE(worker.activity(after.steps.back().number).steps.empty());
}

TEST(EngineThread, ReportsAStalledStep) {
  asio::io_context io;
  base::FakeClock clock;
  auto gated = std::make_unique<GatedRunner>(8);
  GatedRunner& gate = *gated;
  EngineThread thread(options_of(8), std::move(gated), clock);
  clock.advance(std::chrono::hours(1));
  EXPECT_TRUE(thread.report().progressing);
  auto stream = thread.submit(request_of(4, 4), io.get_executor()).value();
  gate.await_step();
  EXPECT_TRUE(thread.report().progressing);
  clock.advance(std::chrono::minutes(2));
  EXPECT_FALSE(thread.report().progressing);
  gate.open();
  EXPECT_TRUE(last_of(io, std::move(stream)).finish);
}

TEST(EngineThread, ADeviceThatFailsIsToldOnceAndRefusesWhatComes) {
  asio::io_context io;
  base::RealClock clock;
  std::promise<base::Error> told;
  auto failing = std::make_unique<FailingRunner>(std::make_unique<ToyRunner>(32), 3);
  EngineThread thread(options_of(32), std::move(failing), clock,
                      [&](const base::Error& failure) { told.set_value(failure); });
  EXPECT_FALSE(thread.report().failed);
  const wire::TokenEvent end = last_of(io, thread.submit(request_of(20, 50), io.get_executor()).value());
  ASSERT_TRUE(end.error);
  EXPECT_EQ(end.error->reason, "engine_failed");
  EXPECT_NE(told.get_future().get().message.find("step 3 fails"), std::string::npos);
  const auto refused = thread.submit(request_of(20, 50), io.get_executor());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_EQ(refused.error().reason, "engine_failed");
  EXPECT_TRUE(thread.report().failed);
  EXPECT_FALSE(thread.report().progressing);
  EXPECT_TRUE(thread.idle());
}

asio::awaitable<void> client(LocalWorker& worker, std::uint32_t seed, std::atomic<int>& num_ended) {
  std::mt19937 random(seed);
  const auto executor = co_await asio::this_coro::executor;
  wire::GenerateRequest request =
      request_of(20 + int(random() % 60), 5 + int(random() % 40), TokenId(random() % 4));
  const bool aborts = random() % 3 == 0;
  const int abort_after = int(random() % 20);
  auto stream = worker.generate(request, executor).value();
  std::vector<TokenId> tokens;
  for (;;) {
    std::optional<wire::TokenEvent> event = co_await stream->next(std::chrono::minutes(1));
    if (!event) continue;
    for (const wire::Token& token : event->tokens) tokens.push_back(token.id);
    if (event->last()) break;
    if (aborts && int(tokens.size()) >= abort_after) {
      stream->cancel();
      ++num_ended;
      co_return;
    }
  }
  std::vector<TokenId> known = request.prompt;
  for (const TokenId token : tokens) {
    EXPECT_EQ(token, ToyRunner::expected_next(known, 0));
    known.push_back(token);
  }
  ++num_ended;
}

TEST(EngineThread, SixtyFourStreamsWithRandomAbortsGiveEveryBlockBack) {
  base::RealClock clock;
  LocalWorker* worker = nullptr;
  std::atomic<int> num_ended = 0;
  asio::io_context contexts[2];
  LocalWorker local(options_of(60), std::make_unique<ToyRunner>(60), clock);
  worker = &local;
  for (int i = 0; i < 64; ++i)
    asio::co_spawn(contexts[i % 2], client(*worker, std::uint32_t(i), num_ended), asio::detached);
  std::thread other([&] { contexts[1].run(); });
  contexts[0].run();
  other.join();
  EXPECT_EQ(num_ended, 64);
  while (!local.idle()) std::this_thread::yield();
  const wire::WorkerReport report = local.report();
  EXPECT_EQ(report.num_free_blocks, 60);
  EXPECT_EQ(report.num_running + report.num_waiting, 0);
  const EngineStats stats = local.stats();
  EXPECT_EQ(stats.sequences.num_finished + stats.sequences.num_aborted, 64);
}

}  // namespace
}  // namespace kvasir::engine

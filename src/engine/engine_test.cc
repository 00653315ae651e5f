#include "engine/engine.h"

#include <gtest/gtest.h>

#include <random>
#include <span>

#include "engine/engine_bench_test.h"
#include "engine/failing_runner.h"
#include "engine/toy_runner_test.h"

namespace kvasir::engine {
namespace {

namespace asio = boost::asio;

wire::GenerateRequest request_of(std::vector<TokenId> prompt, int max_tokens, std::uint64_t seed = 0) {
  wire::GenerateRequest request;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.sampling.seed = seed;
  return request;
}

std::vector<TokenId> prompt_of(int length, TokenId salt) {
  std::vector<TokenId> tokens(length);
  for (int i = 0; i < length; ++i) tokens[i] = (i * 7 + salt) % ToyRunner::kVocabSize;
  return tokens;
}

std::vector<TokenId> expected(const wire::GenerateRequest& request) {
  std::vector<TokenId> known = request.prompt;
  for (int i = 0; i < request.max_tokens; ++i) {
    const TokenId next = ToyRunner::expected_next(known, request.sampling.seed);
    if (std::ranges::find(request.stop_tokens, next) != request.stop_tokens.end()) break;
    known.push_back(next);
  }
  return {known.begin() + std::ptrdiff_t(request.prompt.size()), known.end()};
}

struct ToyBench {
  ToyBench(int num_blocks, ToyRunner::Pace pace) : runner(num_blocks, pace) {}
  ToyRunner runner;
};

class Bench : private ToyBench, public EngineBench {
 public:
  explicit Bench(const EngineOptions& options, ToyRunner::Pace pace = ToyRunner::Pace::one_by_one)
      : ToyBench(options.scheduler.num_blocks, pace), EngineBench(options, ToyBench::runner) {}
  explicit Bench(const sched::SchedulerOptions& options, ToyRunner::Pace pace = ToyRunner::Pace::one_by_one)
      : Bench(EngineOptions{.scheduler = options, .vocab_size = ToyRunner::kVocabSize}, pace) {}
  using ToyBench::runner;
};

class AnyPace : public testing::TestWithParam<ToyRunner::Pace> {};
INSTANTIATE_TEST_SUITE_P(Engine, AnyPace,
                         testing::Values(ToyRunner::Pace::one_by_one, ToyRunner::Pace::overlapped));

// The cost is known even if a sequence ends early, by a stop string or because its reader left.
TEST(Engine, EveryEventSaysWhatTheSequenceCostSoFar) {
  Bench bench({.num_blocks = 16});
  for (const int num_cached : {0, 39}) {
    const Answer& answer = bench.submit(request_of(prompt_of(40, 3), 4));
    bench.finish();
    ASSERT_EQ(answer.usages.size(), 4u);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(answer.usages[i].prompt_tokens, 40);
      EXPECT_EQ(answer.usages[i].cached_tokens, num_cached);
      EXPECT_EQ(answer.usages[i].output_tokens, i + 1);
    }
  }
}

// Waiting is measured on the clock, also while no step runs, and includes the wait for the engine's thread.
TEST(Engine, UsageHasTheTimesOfTheClock) {
  Bench bench({.num_blocks = 16, .max_batch_tokens = 32, .target_step_s = 0});
  bench.runner.before_step = [&](const sched::StepPlan&) { bench.clock.advance(std::chrono::seconds(1)); };
  const base::TimePoint arrived = bench.clock.now();
  bench.clock.advance(std::chrono::seconds(3));
  Answer& answer = *bench.answers.emplace_back(std::make_unique<Answer>());
  answer.stream = std::make_shared<seam::TokenStream>(bench.io.get_executor());
  bench.engine.submit(request_of(prompt_of(40, 3), 4), answer.stream, arrived);
  asio::co_spawn(bench.io, read_all(answer), asio::detached);
  bench.clock.advance(std::chrono::seconds(2));
  bench.finish();
  ASSERT_EQ(answer.usages.size(), 4u);
  for (const wire::Usage& usage : answer.usages) {
    EXPECT_DOUBLE_EQ(usage.queued_s, 5);
    EXPECT_DOUBLE_EQ(usage.prefill_s, 2);  // 32 rows, then 8
  }
  EXPECT_DOUBLE_EQ(answer.usages[0].charge, 40);
  EXPECT_DOUBLE_EQ(answer.usages[3].charge, 43);
}

// Cached tokens have their small price, and the weight divides the whole charge.
TEST(Engine, UsageHasWhatTheTenantWasCharged) {
  Bench bench({.num_blocks = 16});
  wire::GenerateRequest request = request_of(prompt_of(40, 3), 2);
  request.origin.weight = 4;
  bench.submit(request);
  bench.finish();
  const Answer& again = bench.submit(request);
  bench.finish();
  EXPECT_EQ(again.usages.back().cached_tokens, 39);
  EXPECT_DOUBLE_EQ(again.usages.back().charge, (39.0 / 16 + 2) / 4);
}

TEST_P(AnyPace, AloneInABatchWarmOrPreemptedTheTokensAreTheSame) {
  std::vector<wire::GenerateRequest> requests;
  for (int i = 0; i < 16; ++i) {
    std::vector<TokenId> prompt = prompt_of(40 + i * 3, i % 4);
    if (i % 2) prompt[33] = 999;  // the prompts differ within a block
    requests.push_back(request_of(std::move(prompt), 30 + i, i / 5));
  }
  // With enough blocks, with too few, and without a cache.
  for (const sched::SchedulerOptions& options :
       {sched::SchedulerOptions{.num_blocks = 200}, sched::SchedulerOptions{.num_blocks = 14},
        sched::SchedulerOptions{.num_blocks = 40, .max_batch_tokens = 23},
        sched::SchedulerOptions{.num_blocks = 200, .prefix_cache = false}}) {
    Bench bench(options, GetParam());
    for (const bool warm : {false, true}) {
      std::vector<Answer*> batch;
      for (const auto& request : requests) batch.push_back(&bench.submit(request));
      bench.finish();
      for (int i = 0; i < 16; ++i) {
        ASSERT_EQ(batch[i]->tokens, expected(requests[i])) << "request " << i << " warm " << warm;
        EXPECT_EQ(batch[i]->end->finish, wire::FinishReason::length);
        EXPECT_EQ(batch[i]->end->usage.output_tokens, requests[i].max_tokens);
        EXPECT_EQ(batch[i]->end->usage.prompt_tokens, int(requests[i].prompt.size()));
        if (warm && options.num_blocks == 200 && options.prefix_cache) {
          EXPECT_EQ(batch[i]->end->usage.cached_tokens, int(requests[i].prompt.size()) - 1);
        }
      }
    }
    const sched::SchedulerStats stats = bench.engine.stats().sequences;
    EXPECT_EQ(stats.num_finished, 32);
    EXPECT_EQ(stats.num_preemptions > 0, options.num_blocks < 200);
    EXPECT_EQ(stats.num_cached_tokens > 0, options.prefix_cache);
  }
}

TEST_P(AnyPace, ConversationsReuseTheirTurns) {
  Bench bench(sched::SchedulerOptions{.num_blocks = 100}, GetParam());
  std::vector<TokenId> history = prompt_of(50, 1);
  for (int turn = 0; turn < 6; ++turn) {
    const wire::GenerateRequest request = request_of(history, 21);
    const Answer& answer = bench.submit(request);
    bench.finish();
    ASSERT_EQ(answer.tokens, expected(request));
    // Everything is cached except the last answer token, which was never fed, and the tokens that the user
    // added.
    EXPECT_EQ(answer.end->usage.cached_tokens, turn == 0 ? 0 : int(history.size()) - 9 - 1);
    history.insert(history.end(), answer.tokens.begin(), answer.tokens.end());
    for (int i = 0; i < 9; ++i) history.push_back(500 + turn);
  }
}

TEST_P(AnyPace, ASharedFreshPrefixIsComputedOnce) {
  Bench bench(sched::SchedulerOptions{.num_blocks = 400, .target_step_s = 0}, GetParam());
  std::vector<wire::GenerateRequest> requests;
  std::vector<Answer*> answers;
  for (int i = 0; i < 8; ++i) {
    std::vector<TokenId> prompt = prompt_of(512, 3);
    prompt.push_back(i);
    requests.push_back(request_of(std::move(prompt), 4));
    answers.push_back(&bench.submit(requests.back()));
  }
  bench.finish();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(answers[i]->tokens, expected(requests[i]));
  EXPECT_EQ(bench.runner.num_rows, 512 + 8 * 4);
}

TEST_P(AnyPace, StopTokensEndWithoutBeingSent) {
  wire::GenerateRequest request = request_of(prompt_of(20, 1), 10);
  const std::vector<TokenId> all = expected(request);
  for (const bool ignores : {false, true}) {
    Bench bench(
        EngineOptions{
            .scheduler = {.num_blocks = 10}, .vocab_size = ToyRunner::kVocabSize, .end_tokens = {all[4]}},
        GetParam());
    request.ignore_eos = ignores;
    const Answer& answer = bench.submit(request);
    bench.finish();
    EXPECT_EQ(answer.tokens.size(), ignores ? 10u : 4u);
    EXPECT_EQ(answer.end->finish, ignores ? wire::FinishReason::length : wire::FinishReason::stop);
    EXPECT_EQ(answer.end->usage.output_tokens, ignores ? 10 : 5);
  }
}

wire::GenerateRequest after(wire::GenerateRequest request, std::span<const TokenId> output) {
  request.resumed.assign(output.begin(), output.end());
  return request;
}

// Another worker, whose cache is empty or holds the same prefixes, goes on where the first one was lost.
TEST_P(AnyPace, CutAnywhereTheRestIsTheSame) {
  wire::GenerateRequest request = request_of(prompt_of(41, 3), 40, 7);
  const std::vector<TokenId> all = expected(request);
  for (const bool stops : {false, true}) {
    if (stops) request.stop_tokens = {all[37]};
    const std::vector<TokenId> whole = expected(request);
    ASSERT_EQ(whole.size(), stops ? 37u : 40u);
    Bench warm(sched::SchedulerOptions{.num_blocks = 200}, GetParam());
    for (std::size_t k = 0; k <= whole.size(); ++k) {
      Bench cold(sched::SchedulerOptions{.num_blocks = 20, .max_batch_tokens = 16}, GetParam());
      for (Bench* bench : {&cold, &warm}) {
        const Answer& rest = bench->submit(after(request, std::span(whole).first(k)));
        bench->finish();
        EXPECT_EQ(rest.tokens, std::vector(whole.begin() + std::ptrdiff_t(k), whole.end())) << k;
        ASSERT_TRUE(rest.end->finish);
        EXPECT_EQ(*rest.end->finish, stops ? wire::FinishReason::stop : wire::FinishReason::length);
        EXPECT_EQ(rest.end->usage.prompt_tokens, 41);
        EXPECT_EQ(rest.end->usage.output_tokens, stops ? 38 : 40);
        EXPECT_LE(rest.end->usage.cached_tokens, 41);
      }
      const std::int64_t num_all = 41 + std::ssize(whole) - (stops ? 0 : 1);
      if (GetParam() == ToyRunner::Pace::one_by_one && (stops || k < whole.size())) {
        EXPECT_EQ(cold.runner.num_rows, num_all) << k;
      }
    }
    EXPECT_GT(warm.engine.stats().sequences.num_cached_tokens, 41 * 30);
  }
}

TEST_P(AnyPace, ResumedSequencesArePreemptedLikeAnyOther) {
  Bench bench(sched::SchedulerOptions{.num_blocks = 14}, GetParam());
  std::vector<wire::GenerateRequest> requests;
  std::vector<Answer*> answers;
  for (int i = 0; i < 16; ++i) {
    requests.push_back(request_of(prompt_of(40 + i * 3, i % 4), 40 + i, i / 5));
    const std::vector<TokenId> whole = expected(requests.back());
    answers.push_back(&bench.submit(after(requests.back(), std::span(whole).first(i))));
  }
  bench.finish();
  for (int i = 0; i < 16; ++i) {
    std::vector<TokenId> whole = expected(requests[i]);
    whole.erase(whole.begin(), whole.begin() + i);
    EXPECT_EQ(answers[i]->tokens, whole) << i;
  }
  EXPECT_GT(bench.engine.stats().sequences.num_preemptions, 0);
}

TEST(Engine, AnOutputThatCannotBeTheBeginningIsRefused) {
  Bench bench(sched::SchedulerOptions{.num_blocks = 20});
  wire::GenerateRequest request = request_of(prompt_of(10, 1), 3);
  request.stop_tokens = {999};
  const auto error_of = [&](std::vector<TokenId> output) {
    const Answer& answer = bench.submit(after(request, output));
    bench.finish();
    return answer.end->error ? answer.end->error->message : "";
  };
  EXPECT_EQ(error_of({1, 2}), "");
  EXPECT_EQ(error_of({1, 2, 3, 4}), "the output to resume has 4 tokens, but was whole after 3");
  EXPECT_EQ(error_of({1, 999}), "the output to resume has the end token 999 in it");
  request.min_tokens = 2;
  EXPECT_EQ(error_of({1, 999}), "");
}

TEST_P(AnyPace, RandomAbortsSlowReadersAndFailuresGiveEveryBlockBack) {
  for (int round = 0; round < 12; ++round) {
    std::mt19937 random(round);
    Bench bench(EngineOptions{.scheduler = {.num_blocks = 20 + int(random() % 60),
                                            .max_batch_tokens = 8 + int(random() % 100),
                                            .max_batch_sequences = 1 + int(random() % 20)},
                              .vocab_size = ToyRunner::kVocabSize,
                              .max_backlog_tokens = 6},
                GetParam());
    std::vector<wire::GenerateRequest> requests;
    std::vector<Answer*> answers;
    std::vector<bool> aborted;
    const auto arrive = [&] {
      std::vector<TokenId> prompt = prompt_of(1 + int(random() % 120), TokenId(random() % 3));
      if (prompt.size() > 20 && random() % 2) prompt[random() % prompt.size()] = 999;
      requests.push_back(request_of(std::move(prompt), 1 + int(random() % 60), random() % 3));
      requests.back().priority = int(random() % 3);
      answers.push_back(&bench.submit(requests.back()));
      aborted.push_back(false);
    };
    for (int i = 0; i < 32; ++i) arrive();
    for (int i = 0; i < 5000 && !bench.engine.idle(); ++i) {
      if (requests.size() < 64 && random() % 3 == 0) arrive();
      if (random() % 8 == 0) {
        const std::size_t which = random() % answers.size();
        answers[which]->stream->cancel();
        aborted[which] = true;
      }
      bench.engine.step();
      // Readers pause at times, so that backlogs build up.
      if (i % 40 > 20) bench.poll();
    }
    bench.poll();
    bench.finish();
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (aborted[i] && !answers[i]->end) continue;
      ASSERT_TRUE(answers[i]->end) << "round " << round << " request " << i;
      EXPECT_EQ(answers[i]->tokens, expected(requests[i])) << "round " << round << " request " << i;
    }
  }
}

TEST(Engine, AReaderThatIsBehindIsLeftOutUntilItReads) {
  Bench bench(EngineOptions{
      .scheduler = {.num_blocks = 20}, .vocab_size = ToyRunner::kVocabSize, .max_backlog_tokens = 4});
  const wire::GenerateRequest request = request_of(prompt_of(10, 1), 50);
  Answer& answer = bench.submit(request);
  int num_steps = 0;
  while (bench.engine.step()) ++num_steps;
  EXPECT_EQ(num_steps, 5);
  EXPECT_FALSE(bench.engine.idle());
  bench.poll();
  EXPECT_TRUE(bench.step());
  bench.finish();
  EXPECT_EQ(answer.tokens, expected(request));
}

TEST(Engine, CancelIsSeenBeforeTheNextPlan) {
  Bench bench(sched::SchedulerOptions{.num_blocks = 20, .max_batch_tokens = 32, .max_batch_sequences = 1});
  Answer& running = bench.submit(request_of(prompt_of(100, 1), 50));
  Answer& waiting = bench.submit(request_of(prompt_of(10, 2), 50));
  bench.step();
  running.stream->cancel();
  waiting.stream->cancel();
  EXPECT_FALSE(bench.step());
  EXPECT_TRUE(bench.engine.idle());
  EXPECT_EQ(bench.engine.stats().sequences.num_aborted, 2);
  EXPECT_EQ(bench.engine.scheduler().pool().num_available(), 20);
}

// The row that was started before the stop token was seen is dropped. Nothing else is computed in vain.
TEST(Engine, AnOverlappedStopCostsOneRow) {
  wire::GenerateRequest request = request_of(prompt_of(20, 1), 10);
  const std::vector<TokenId> all = expected(request);
  request.stop_tokens = {all[4]};
  Bench bench(sched::SchedulerOptions{.num_blocks = 10}, ToyRunner::Pace::overlapped);
  bench.submit(request);
  bench.finish();
  EXPECT_EQ(bench.runner.num_rows, 20 + 4 + 1);
  Bench without(sched::SchedulerOptions{.num_blocks = 10}, ToyRunner::Pace::overlapped);
  without.submit(request_of(prompt_of(20, 1), 10));
  without.finish();
  EXPECT_EQ(without.runner.num_rows, 20 + 9);
}

TEST(Engine, ACancelledStepIsTakenInBeforeTheEngineIsIdle) {
  Bench bench(sched::SchedulerOptions{.num_blocks = 20}, ToyRunner::Pace::overlapped);
  Answer& answer = bench.submit(request_of(prompt_of(10, 1), 50));
  bench.step();
  bench.step();
  answer.stream->cancel();
  EXPECT_TRUE(bench.step());
  EXPECT_TRUE(bench.engine.idle());
  EXPECT_FALSE(bench.step());
  EXPECT_EQ(bench.engine.scheduler().pool().num_available(), 20);
}

TEST(Engine, AStreamThatNobodyReadsIsDropped) {
  Bench bench(sched::SchedulerOptions{.num_blocks = 20});
  auto stream = std::make_shared<seam::TokenStream>(bench.io.get_executor());
  std::optional<seam::TokenReader> reader(stream);
  bench.engine.submit(request_of(prompt_of(10, 1), 50), std::move(stream));
  reader.reset();
  EXPECT_FALSE(bench.step());
  EXPECT_TRUE(bench.engine.idle());
}

TEST(Engine, ARunnersErrorEndsItsOwnRequestOnly) {
  class Failing final : public Runner {
   public:
    base::Result<sched::StepResult> run(const sched::StepPlan& plan) override {
      sched::StepResult result = toy.run(plan).value();
      for (std::size_t i = 0; i < plan.slices.size(); ++i)
        if (plan.slices[i].request->origin.request_id == "bad" && plan.slices[i].known.size() == 13)
          result.outcomes[i] = {.error = base::error(base::ErrorCode::internal, "not a number")};
      return result;
    }
    ToyRunner toy{50};
  };
  Failing runner;
  base::FakeClock clock;
  asio::io_context io;
  Engine engine({.scheduler = {.num_blocks = 50}, .vocab_size = ToyRunner::kVocabSize}, runner, clock);
  Answer good, bad;
  wire::GenerateRequest request = request_of(prompt_of(10, 1), 20);
  for (Answer* answer : {&good, &bad}) {
    request.origin.request_id = answer == &bad ? "bad" : "good";
    answer->stream = std::make_shared<seam::TokenStream>(io.get_executor());
    asio::co_spawn(io, read_all(*answer), asio::detached);
    engine.submit(request, answer->stream);
  }
  while (engine.step()) {
  }
  io.run();
  EXPECT_EQ(good.tokens, expected(request));
  EXPECT_EQ(bad.tokens.size(), 3u);
  ASSERT_TRUE(bad.end->error);
  EXPECT_EQ(bad.end->error->message, "not a number");
  EXPECT_EQ(engine.scheduler().pool().num_available(), 50);
}

// Running, half-read and waiting requests all end, whether or not another step was started after the one that
// fails.
TEST(Engine, ADeviceThatFailsEndsEveryRequestAndTakesNoMore) {
  for (const ToyRunner::Pace pace : {ToyRunner::Pace::one_by_one, ToyRunner::Pace::overlapped}) {
    FailingRunner runner(std::make_unique<ToyRunner>(50, pace), 4);
    EngineBench bench({.scheduler = {.num_blocks = 50, .max_batch_tokens = 16, .max_batch_sequences = 2},
                       .vocab_size = ToyRunner::kVocabSize},
                      runner);
    std::vector<Answer*> answers;
    for (int i = 0; i < 4; ++i) answers.push_back(&bench.submit(request_of(prompt_of(10 + 20 * i, i), 100)));
    for (int i = 0; i < 20 && !bench.engine.failure(); ++i) EXPECT_TRUE(bench.step());
    ASSERT_TRUE(bench.engine.failure());
    EXPECT_TRUE(bench.engine.idle());
    EXPECT_FALSE(answers[0]->tokens.empty());
    answers.push_back(&bench.submit(request_of(prompt_of(10, 9), 5)));
    EXPECT_FALSE(bench.step());
    for (const Answer* answer : answers) {
      ASSERT_TRUE(answer->end && answer->end->error);
      EXPECT_EQ(answer->end->error->code, base::ErrorCode::unavailable);
      EXPECT_EQ(answer->end->error->reason, "engine_failed");
      EXPECT_GT(answer->end->error->retry_after_s, 0);
    }
    EXPECT_EQ(bench.engine.scheduler().pool().num_available(), 50);
  }
}

TEST(Engine, MeasuresStepsAndLearnsTheirCost) {
  Bench bench(sched::SchedulerOptions{.num_blocks = 200, .target_step_s = 0.05});
  bench.runner.before_step = [&](const sched::StepPlan& plan) {
    bench.clock.advance(
        std::chrono::microseconds(3000 + 400 * plan.load.prefill_tokens + 2000 * plan.load.decode_sequences));
  };
  bench.submit(request_of(prompt_of(30, 1), 300));
  bench.submit(request_of(prompt_of(1500, 2), 10));
  double worst_s = 0;
  for (int i = 0; !bench.engine.idle() && i < 1000; ++i) {
    bench.step();
    if (i > 8 && bench.engine.scheduler().num_running() > 1)
      worst_s = std::max(worst_s, bench.engine.stats().last_step_s);
  }
  EXPECT_GT(worst_s, 0.025);
  EXPECT_LT(worst_s, 0.06);
  const EngineStats stats = bench.engine.stats();
  EXPECT_LT(stats.absolute_error_s / stats.step_s, 0.2);
}

}  // namespace
}  // namespace kvasir::engine

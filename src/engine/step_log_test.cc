#include "engine/step_log.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>

#include "engine/engine.h"
#include "engine/toy_runner_test.h"

namespace kvasir::engine {
namespace {

TEST(StepLog, RecordsOnlyWhileItIsRead) {
  base::FakeClock clock;
  clock.advance(std::chrono::hours(1));
  StepLog log(clock);
  EXPECT_FALSE(log.is_watched());
  EXPECT_TRUE(log.read(0).empty());
  EXPECT_TRUE(log.is_watched());
  clock.advance(StepLog::kWatched);
  EXPECT_FALSE(log.is_watched());
}

TEST(StepLog, KeepsTheNewestAndTellsEachOnce) {
  const base::FakeClock clock;
  StepLog log(clock);
  for (std::size_t i = 0; i < StepLog::kMaxSteps + 10; ++i) log.add({});
  const std::vector<wire::StepRecord> steps = log.read(0);
  ASSERT_EQ(steps.size(), StepLog::kMaxSteps);
  EXPECT_EQ(steps.front().number, 11);
  EXPECT_EQ(log.read(steps.back().number - 2).size(), 2);
  EXPECT_TRUE(log.read(steps.back().number).empty());
}

wire::GenerateRequest request_from(const std::string& tenant, int num_prompt) {
  wire::GenerateRequest request;
  request.origin = {.request_id = "of-" + tenant, .tenant = tenant};
  for (int i = 0; i < num_prompt; ++i) request.prompt.push_back(100 * (tenant[0] - 'a') + i);
  request.max_tokens = 3;
  return request;
}

// The steps of two requests on one of the two kinds of device.
std::vector<wire::StepRecord> steps_of_two(ToyRunner::Pace pace) {
  const base::RealClock clock;
  boost::asio::io_context io;
  ToyRunner runner(64, pace);
  StepLog log(clock);
  (void)log.read(0);
  Engine engine(
      {.scheduler = {.num_blocks = 64, .max_batch_tokens = 64}, .vocab_size = ToyRunner::kVocabSize}, runner,
      clock);
  engine.record_to(log);
  for (const auto& request : {request_from("a", 20), request_from("b", 30)})
    engine.submit(request, std::make_shared<seam::TokenStream>(io.get_executor()));
  while (engine.step()) {
  }
  return log.read(0);
}

TEST(StepLog, AStepSaysWhoseRowsItComputed) {
  for (const ToyRunner::Pace pace : {ToyRunner::Pace::one_by_one, ToyRunner::Pace::overlapped}) {
    int prompt_rows = 0;
    int answer_rows = 0;
    for (const wire::StepRecord& step : steps_of_two(pace)) {
      EXPECT_GT(step.started_s, 0);
      EXPECT_GE(step.plan_s, 0);
      EXPECT_GE(step.run_s, 0);
      EXPECT_GE(step.commit_s, 0);
      for (const wire::StepRecord::Slice& slice : step.slices) {
        EXPECT_EQ(slice.request_id, "of-" + slice.tenant);
        (slice.is_prompt ? prompt_rows : answer_rows) += slice.num_rows;
      }
    }
    EXPECT_EQ(prompt_rows, 50);
    EXPECT_EQ(answer_rows, 4);  // the first token of each comes with its prompt
  }
}

TEST(StepLog, ManySlicesAreSummedUp) {
  wire::GenerateRequest request = request_from("a", 1);
  sched::StepPlan plan;
  plan.slices.resize(wire::StepRecord::kMaxSlices + 5);
  for (sched::StepPlan::Slice& slice : plan.slices) {
    slice.request = &request;
    slice.num_rows = 2;
  }
  const wire::StepRecord record = record_of(plan);
  EXPECT_EQ(record.slices.size(), wire::StepRecord::kMaxSlices);
  EXPECT_EQ(record.num_other_rows, 10);
}

}  // namespace
}  // namespace kvasir::engine

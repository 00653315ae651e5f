// Sequences whose blocks come from elsewhere, and sequences whose blocks go elsewhere.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sched/scheduler.h"

namespace kvasir::sched {
namespace {

using kv::kBlockTokens;

// Keeps the blocks that it gets.
struct Outlet final : kv::BlockOutlet {
  void put(std::size_t index, kv::BlockImage image) override { images[index] = std::move(image); }
  std::map<std::size_t, kv::BlockImage> images;
};

wire::GenerateRequest prompt_of(int num_tokens, TokenId salt = 0) {
  wire::GenerateRequest request;
  for (int i = 0; i < num_tokens; ++i) request.prompt.push_back(i + 1000 * salt);
  request.max_tokens = 4;
  return request;
}

std::shared_ptr<const kv::BlockImage> image() {
  return std::make_shared<const kv::BlockImage>();
}

// A scheduler and a device that takes 10 ms a step.
class Arrivals : public testing::Test {
 protected:
  StepPlan step() {
    scheduler.set_now(now_s);
    scheduler.take_arrivals();
    StepPlan plan = scheduler.plan();
    StepResult result{.seconds = 0.01};
    for (const StepPlan::Slice& slice : plan.slices) {
      StepResult::Outcome& outcome = result.outcomes.emplace_back();
      if (slice.wants_token()) outcome.token = wire::Token{.id = 5};
    }
    result.stored.resize(plan.stores.size());
    now_s += 0.01;
    if (!plan.empty()) scheduler.commit(plan, std::move(result));
    return plan;
  }
  // A prompt of `num_tokens` that waits for blocks [first, end).
  SequenceId submit_awaiting(int num_tokens, std::size_t first, std::size_t end, TokenId salt = 0) {
    wire::GenerateRequest request = prompt_of(num_tokens, salt);
    request.arriving = std::make_shared<kv::ArrivingBlocks>(first, end, 0.5, [this] { ++num_gone; });
    arriving = request.arriving.get();
    scheduler.set_now(now_s);
    return scheduler.submit(std::move(request)).value();
  }
  void finish() {
    while (!scheduler.idle()) step();
    EXPECT_EQ(scheduler.pool().num_available(), scheduler.pool().num_blocks());
    EXPECT_EQ(scheduler.num_awaiting(), 0);
  }

  Scheduler scheduler{{.num_blocks = 64, .max_batch_tokens = 64, .target_step_s = 0}};
  kv::ArrivingBlocks* arriving = nullptr;  // of the request submitted last; valid until its blocks are taken
  int num_gone = 0;
  double now_s = 100;
};

TEST_F(Arrivals, OneThatWaitsHoldsUpNobodyAndLoadsWhatCame) {
  const SequenceId waits = submit_awaiting(100, 0, 6);
  const SequenceId other = scheduler.submit(prompt_of(20, 1)).value();
  const StepPlan first = step();
  ASSERT_EQ(first.slices.size(), 1u);
  EXPECT_EQ(first.slices[0].sequence, other);
  EXPECT_EQ(scheduler.num_awaiting(), 1);
  for (int i = 0; i < 5; ++i) arriving->add(image());
  EXPECT_EQ(step().slices.size(), 1u) << "one block is missing";
  arriving->add(image());
  const StepPlan plan = step();
  ASSERT_EQ(plan.slices.size(), 2u);
  const StepPlan::Slice& slice = plan.slices[1];
  EXPECT_EQ(slice.sequence, waits);
  EXPECT_EQ(slice.num_computed, 96);
  EXPECT_EQ(slice.num_rows, 4);
  ASSERT_EQ(plan.loads.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(plan.loads[i].to, slice.blocks[i]);
  EXPECT_EQ(num_gone, 1);
  EXPECT_EQ(scheduler.stats().num_cached_tokens, 0) << "they were computed for this request";
  finish();
  // Other requests find the loaded blocks.
  scheduler.submit(prompt_of(100)).value();
  EXPECT_EQ(step().slices[0].num_computed, 99);
  finish();
}

TEST_F(Arrivals, TheLateOnesAreComputedHere) {
  submit_awaiting(100, 0, 6);
  for (int i = 0; i < 2; ++i) arriving->add(image());
  now_s += 0.4;
  EXPECT_TRUE(step().empty());
  now_s += 0.2;
  const StepPlan plan = step();
  ASSERT_EQ(plan.slices.size(), 1u);
  EXPECT_EQ(plan.loads.size(), 2u);
  EXPECT_EQ(plan.slices[0].num_computed, 32);
  EXPECT_EQ(num_gone, 1) << "whoever fetches learns that nobody waits";
  finish();
}

TEST_F(Arrivals, NothingCame) {
  submit_awaiting(100, 0, 6);
  arriving->close();
  const StepPlan plan = step();
  ASSERT_EQ(plan.slices.size(), 1u);
  EXPECT_TRUE(plan.loads.empty());
  EXPECT_EQ(plan.slices[0].num_computed, 0);
  finish();
}

TEST_F(Arrivals, TheyGoOnWhereTheCacheEnds) {
  scheduler.submit(prompt_of(48)).value();
  finish();
  submit_awaiting(100, 2, 6);
  for (int i = 0; i < 4; ++i) arriving->add(image());
  const StepPlan plan = step();
  EXPECT_EQ(plan.slices[0].num_computed, 96);
  EXPECT_EQ(plan.loads.size(), 3u) << "the third block was in the cache too";
  finish();
}

TEST_F(Arrivals, BlocksAfterAGapAreOfNoUse) {
  submit_awaiting(100, 2, 6);
  for (int i = 0; i < 4; ++i) arriving->add(image());
  const StepPlan plan = step();
  EXPECT_TRUE(plan.loads.empty());
  EXPECT_EQ(plan.slices[0].num_computed, 0);
  finish();
}

// A prompt of whole blocks still computes its last one, whose logits are needed.
TEST_F(Arrivals, NeverCoverTheLastToken) {
  submit_awaiting(32, 0, 2);
  for (int i = 0; i < 2; ++i) arriving->add(image());
  const StepPlan plan = step();
  EXPECT_EQ(plan.loads.size(), 1u);
  EXPECT_EQ(plan.slices[0].num_computed, 16);
  finish();
}

TEST_F(Arrivals, OneThatIsAbortedGivesUpItsBlocks) {
  const SequenceId id = submit_awaiting(100, 0, 6);
  arriving->add(image());
  scheduler.abort(id);
  EXPECT_EQ(num_gone, 1);
  finish();
}

// A sequence whose blocks came needs as much room as any other. If it does not fit, it waits and keeps them.
TEST_F(Arrivals, WaitForRoomWithWhatCame) {
  Scheduler small({.num_blocks = 8, .max_batch_tokens = 256, .target_step_s = 0});
  small.submit(prompt_of(100, 1)).value();
  wire::GenerateRequest request = prompt_of(100);
  request.arriving = std::make_shared<kv::ArrivingBlocks>(0, 6, 1);
  for (int i = 0; i < 6; ++i) request.arriving->add(image());
  small.submit(std::move(request)).value();
  std::size_t num_loads = 0;
  for (int i = 0; i < 20 && !small.idle(); ++i) {
    small.take_arrivals();
    const StepPlan plan = small.plan();
    num_loads += plan.loads.size();
    StepResult result{.seconds = 0.01};
    for (std::size_t s = 0; s < plan.slices.size(); ++s)
      result.outcomes.push_back({.token = wire::Token{.id = 5}});
    small.commit(plan, std::move(result));
  }
  EXPECT_TRUE(small.idle());
  EXPECT_EQ(num_loads, 6u);
}

TEST_F(Arrivals, StoresFollowThePromptBlockByBlock) {
  scheduler.submit(prompt_of(48)).value();
  finish();
  wire::GenerateRequest request = prompt_of(200);
  request.outlet = std::make_shared<Outlet>();
  request.first_block = 1;
  request.max_tokens = 40;
  const SequenceId id = scheduler.submit(std::move(request)).value();
  const StepPlan first = step();  // finds three blocks and computes four
  std::vector<std::size_t> stored;
  for (const StepPlan::Store& store : first.stores) stored.push_back(store.index);
  EXPECT_EQ(stored, (std::vector<std::size_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(first.stores[0].from, first.slices[0].blocks[1]);
  std::size_t num_stored = first.stores.size();
  while (scheduler.num_running() + scheduler.num_waiting() > 0) num_stored += step().stores.size();
  EXPECT_EQ(num_stored, 11u) << "the prompt's full blocks, and none of the answer's";
  EXPECT_EQ(id, 2u);
  finish();
}

}  // namespace
}  // namespace kvasir::sched

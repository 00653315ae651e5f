#include "sched/prefill_log.h"

#include <gtest/gtest.h>

namespace kvasir::sched {
namespace {

TEST(PrefillLogTest, StepsEndInTheirOrder) {
  PrefillLog log;
  log.begin(7, 100, 1.0);
  log.begin(8, 50, 1.5);  // begins before the first one has ended
  log.end(2.0);
  log.end(3.0);
  const auto chunks = log.take();
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_EQ(chunks[0].step, 7);
  EXPECT_EQ(chunks[0].num_tokens, 100);
  EXPECT_EQ(chunks[0].began_s, 1.0);
  EXPECT_EQ(chunks[0].ended_s, 2.0);
  EXPECT_EQ(chunks[1].began_s, 1.5);
  EXPECT_EQ(chunks[1].ended_s, 3.0);
  EXPECT_TRUE(log.take().empty());
}

TEST(PrefillLogTest, TheLastChunkStandsForAllFurtherSteps) {
  PrefillLog log;
  for (int i = 0; i < 40; ++i) {
    log.begin(i, 10, i);
    log.end(i + 0.5);
  }
  const auto chunks = log.take();
  ASSERT_EQ(chunks.size(), PrefillLog::kMaxChunks);
  EXPECT_EQ(chunks[30].num_steps, 1);
  EXPECT_EQ(chunks[31].num_steps, 9);
  EXPECT_EQ(chunks[31].num_tokens, 90);
  EXPECT_EQ(chunks[31].began_s, 31);
  EXPECT_EQ(chunks[31].ended_s, 39.5);
}

}  // namespace
}  // namespace kvasir::sched

#include "ops/cpu/compute_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace kvasir::ops {
namespace {

TEST(ComputePool, EveryPieceRunsOnce) {
  for (int num_threads : {1, 2, 3, 8}) {
    ComputePool pool(num_threads);
    EXPECT_EQ(pool.num_threads(), num_threads);
    for (int num_pieces : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(num_pieces));
      pool.run(num_pieces, [&](int piece, int thread) {
        EXPECT_GE(thread, 0);
        EXPECT_LT(thread, num_threads);
        ++runs[static_cast<std::size_t>(piece)];
      });
      for (const auto& n : runs) ASSERT_EQ(n, 1);
    }
  }
}

// Each piece waits for the others, so they finish only if as many threads work on them.
TEST(ComputePool, ThreadsWorkAtOnce) {
  ComputePool pool(3);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> here{0};
    std::mutex mutex;
    std::set<int> threads;
    pool.run(3, [&](int /*piece*/, int thread) {
      {
        std::lock_guard lock(mutex);
        threads.insert(thread);
      }
      ++here;
      while (here < 3) std::this_thread::yield();
    });
    EXPECT_EQ(threads.size(), 3u);
  }
}

// Several callers run jobs of random sizes. No piece is lost or done twice, and two jobs never run at once.
TEST(ComputePool, CallersTakeTurns) {
  ComputePool pool(4);
  std::atomic<int> inside[5] = {};  // pieces of each caller that run right now
  std::atomic<int> mixed{0};
  const auto call = [&](int caller) {
    std::mt19937 random(static_cast<unsigned>(caller));
    for (int round = 0; round < 300; ++round) {
      const int num_pieces = 2 + static_cast<int>(random() % 20);
      std::vector<int> sums(static_cast<std::size_t>(num_pieces), 0);
      std::vector<int> scratch(4, 0);  // plain ints, so that the thread sanitizer finds a race
      pool.run(num_pieces, [&](int piece, int thread) {
        ++inside[caller];
        for (int other = 0; other < 5; ++other) {
          if (other != caller && inside[other] != 0) ++mixed;
        }
        sums[static_cast<std::size_t>(piece)] += piece + caller;
        ++scratch[static_cast<std::size_t>(thread)];
        --inside[caller];
      });
      int total = 0;
      for (int n : scratch) total += n;
      ASSERT_EQ(total, num_pieces);
      for (int i = 0; i < num_pieces; ++i) ASSERT_EQ(sums[static_cast<std::size_t>(i)], i + caller);
    }
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 5; ++i) callers.emplace_back(call, i);
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(mixed, 0);
}

// A caller in a tight loop does not starve another: turns go in the order of asking.
TEST(ComputePool, ABusyCallerDoesNotStarveAnother) {
  ComputePool pool(2);
  std::atomic<bool> stop{false};
  std::atomic<int> busy_jobs{0};
  std::thread busy([&] {
    while (!stop) {
      pool.run(4, [](int, int) {});
      ++busy_jobs;
    }
  });
  while (busy_jobs == 0) std::this_thread::yield();
  for (int i = 0; i < 200; ++i) pool.run(4, [](int, int) {});
  stop = true;
  busy.join();
  EXPECT_GT(busy_jobs, 0);
}

TEST(ComputePool, ManyPoolsComeAndGo) {
  for (int i = 0; i < 50; ++i) {
    ComputePool pool(3);
    std::atomic<int> n{0};
    if (i % 2 == 0) pool.run(5, [&](int, int) { ++n; });
    EXPECT_EQ(n, i % 2 == 0 ? 5 : 0);
  }
}

}  // namespace
}  // namespace kvasir::ops

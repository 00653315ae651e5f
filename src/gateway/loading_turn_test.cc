#include "gateway/loading_turn.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace kvasir::gateway {
namespace {

TEST(LoadingTurn, IsHeldByOneAtATime) {
  LoadingTurn turn;
  std::atomic<int> num_inside = 0;
  std::atomic<int> num_done = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&](const std::stop_token& stop) {
      for (int j = 0; j < 100; ++j) {
        const auto held = turn.take(stop);
        if (!held) return;
        EXPECT_EQ(++num_inside, 1);
        std::this_thread::yield();
        --num_inside;
        ++num_done;
      }
    });
  for (std::jthread& thread : threads) thread.join();
  EXPECT_EQ(num_done, 400);
}

TEST(LoadingTurn, AWaitEndsWithAStop) {
  LoadingTurn turn;
  const auto held = turn.take({});
  ASSERT_NE(held, nullptr);
  std::stop_source stop;
  std::jthread stopper([&stop] { stop.request_stop(); });
  EXPECT_EQ(turn.take(stop.get_token()), nullptr);
}

}  // namespace
}  // namespace kvasir::gateway

#include "api/http/wait/text_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <semaphore>
#include <string>

namespace kvasir::api {
namespace {

using Entry = TextQueue::Entry;

// An entry that runs until it is asked to stop.
class Endless {
 public:
  std::shared_ptr<Entry> entry() {
    auto made = std::make_shared<Entry>();
    made->run = [this](const std::stop_token& stop) {
      begun_.release();
      while (!stop.stop_requested()) std::this_thread::yield();
      ended_.release();
    };
    return made;
  }
  void wait_begun() { begun_.acquire(); }
  void wait_ended() { ended_.acquire(); }

 private:
  std::binary_semaphore begun_{0};
  std::binary_semaphore ended_{0};
};

std::shared_ptr<Entry> counting(std::atomic<int>& runs, std::atomic<int>& drops) {
  auto made = std::make_shared<Entry>();
  made->run = [&runs](const std::stop_token&) { ++runs; };
  made->drop = [&drops] { ++drops; };
  return made;
}

TEST(TextQueue, RefusesOneMoreThanMayWait) {
  Endless endless;
  std::atomic<int> runs = 0;
  std::atomic<int> drops = 0;
  TextQueue queue(1, 2);
  ASSERT_TRUE(queue.add(endless.entry()).ok());
  endless.wait_begun();
  EXPECT_TRUE(queue.add(counting(runs, drops)).ok());
  EXPECT_TRUE(queue.add(counting(runs, drops)).ok());
  const base::Status refused = queue.add(counting(runs, drops));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, base::ErrorCode::exhausted);
  EXPECT_GT(refused.error().retry_after_s, 0);
}

TEST(TextQueue, WhatIsGivenUpNeitherRunsNorTakesAPlace) {
  Endless endless;
  std::atomic<int> runs = 0;
  std::atomic<int> drops = 0;
  const auto running = endless.entry();
  TextQueue queue(1, 1);
  ASSERT_TRUE(queue.add(running).ok());
  endless.wait_begun();
  const auto unwanted = counting(runs, drops);
  ASSERT_TRUE(queue.add(unwanted).ok());
  queue.give_up(unwanted);
  std::binary_semaphore last_ran{0};
  const auto last = std::make_shared<Entry>();
  last->run = [&](const std::stop_token&) { last_ran.release(); };
  ASSERT_TRUE(queue.add(last).ok());
  queue.give_up(running);
  endless.wait_ended();
  last_ran.acquire();
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(drops, 0);
}

TEST(TextQueue, StoppingDropsWhatWaitsAndEndsWhatRuns) {
  Endless endless;
  std::atomic<int> runs = 0;
  std::atomic<int> drops = 0;
  TextQueue queue(1, 8);
  ASSERT_TRUE(queue.add(endless.entry()).ok());
  endless.wait_begun();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.add(counting(runs, drops)).ok());
  queue.stop();
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(drops, 3);
  EXPECT_EQ(queue.add(counting(runs, drops)).error().code, base::ErrorCode::unavailable);
}

TEST(TextQueue, OneWhoSendsManyTextsDelaysOnlyItself) {
  Endless endless;
  const auto running = endless.entry();
  std::counting_semaphore<> ran{0};
  std::string order;
  TextQueue queue(1, 100);
  ASSERT_TRUE(queue.add(running).ok());
  endless.wait_begun();
  const auto add = [&](const std::string& flow, std::int64_t num_bytes) {
    const auto made = std::make_shared<Entry>();
    made->turn = {flow, 1, num_bytes};
    made->run = [&order, &ran, flow](const std::stop_token&) {
      order += flow + " ";
      ran.release();
    };
    ASSERT_TRUE(queue.add(made).ok());
  };
  for (int i = 0; i < 4; ++i) add("flood", 1000);
  add("guest", 10);
  add("guest", 10);
  queue.give_up(running);
  for (int i = 0; i < 6; ++i) ran.acquire();
  EXPECT_EQ(order, "flood guest guest flood flood flood ");
}

}  // namespace
}  // namespace kvasir::api

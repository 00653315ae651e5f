#include "engine/embed_worker.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <numeric>
#include <stop_token>
#include <thread>
#include <utility>

namespace kvasir::engine {
namespace {

using Vectors = base::Result<std::vector<float>>;

// A vector holds the number of its sequence's tokens and their sum. Batches wait while the gate is shut.
class EmbedWorkerTest : public testing::Test {
 protected:
  static constexpr int kDimensions = 2;

  std::future<Vectors> ask(std::vector<std::vector<TokenId>> sequences, std::stop_token stop = {}) {
    auto promise = std::make_shared<std::promise<Vectors>>();
    std::future<Vectors> result = promise->get_future();
    const base::Status status = worker_.embed({std::move(sequences), std::move(stop)},
                                              [promise](Vectors r) { promise->set_value(std::move(r)); });
    if (!status.ok()) promise->set_value(status.error());
    return result;
  }

  void shut() { gate_.lock(); }
  void open() { gate_.unlock(); }
  // Blocks until a batch is inside the encoder.
  void await_batch(std::size_t number) {
    std::unique_lock lock(mutex_);
    begun_.wait(lock, [&] { return batches_.size() > number; });
  }

  std::mutex gate_;
  std::mutex mutex_;
  std::condition_variable begun_;
  std::vector<std::size_t> batches_;  // sizes, in sequences
  bool broken_ = false;               // set before the first request
  EmbedWorker worker_{{.dimensions = kDimensions, .max_batch_tokens = 8, .max_waiting = 3},
                      [this](std::span<const std::vector<TokenId>> sequences) -> Vectors {
                        {
                          const std::lock_guard lock(mutex_);
                          batches_.push_back(sequences.size());
                        }
                        begun_.notify_all();
                        const std::lock_guard wait(gate_);
                        if (broken_) return base::error(base::ErrorCode::internal, "broken");
                        std::vector<float> out;
                        for (const auto& tokens : sequences) {
                          out.push_back(static_cast<float>(tokens.size()));
                          out.push_back(static_cast<float>(std::accumulate(tokens.begin(), tokens.end(), 0)));
                        }
                        return out;
                      }};
};

TEST_F(EmbedWorkerTest, VectorsComeInTheOrderOfTheirSequences) {
  std::vector<std::vector<TokenId>> sequences;
  std::vector<float> expected;
  for (int i = 1; i <= 20; ++i) {
    sequences.emplace_back(static_cast<std::size_t>(i % 5 + 1), i);
    expected.push_back(static_cast<float>(i % 5 + 1));
    expected.push_back(static_cast<float>((i % 5 + 1) * i));
  }
  EXPECT_EQ(ask(sequences).get().value(), expected);
}

TEST_F(EmbedWorkerTest, RequestsShareABatch) {
  shut();
  auto first = ask({{1}});
  await_batch(0);
  auto second = ask({{1}, {2}});
  auto third = ask({{3}});
  open();
  first.get().value();
  EXPECT_EQ(second.get().value(), (std::vector<float>{1, 1, 1, 2}));
  EXPECT_EQ(third.get().value(), (std::vector<float>{1, 3}));
  EXPECT_EQ(batches_, (std::vector<std::size_t>{1, 3}));
}

TEST_F(EmbedWorkerTest, ALargeRequestDoesNotKeepASmallOneWaiting) {
  shut();
  auto large = ask(std::vector<std::vector<TokenId>>(100, {1, 1, 1, 1}));
  await_batch(0);
  std::promise<std::size_t> num_batches;  // counted when the small request was done
  const base::Status queued = worker_.embed({{{7}}, {}}, [&](const Vectors& vectors) {
    EXPECT_EQ(vectors.value(), (std::vector<float>{1, 7}));
    const std::lock_guard lock(mutex_);
    num_batches.set_value(batches_.size());
  });
  ASSERT_TRUE(queued.ok());
  open();
  EXPECT_EQ(num_batches.get_future().get(), 2u);
  EXPECT_EQ(large.get().value().size(), 200u);
  EXPECT_GT(batches_.size(), 50u);
}

TEST_F(EmbedWorkerTest, ASequenceLongerThanABatchIsABatchOfItsOwn) {
  EXPECT_EQ(ask({std::vector<TokenId>(50, 1), {2}}).get().value(), (std::vector<float>{50, 50, 1, 2}));
}

TEST_F(EmbedWorkerTest, TheQueueIsBounded) {
  shut();
  std::vector<std::future<Vectors>> taken;
  for (int i = 0; i < 3; ++i) taken.push_back(ask({{1}}));
  EXPECT_EQ(ask({{1}}).get().error().code, base::ErrorCode::exhausted);
  EXPECT_EQ(worker_.report().num_waiting, 2);
  open();
  for (auto& one : taken) EXPECT_TRUE(one.get().ok());
}

TEST_F(EmbedWorkerTest, WhatNobodyWantsIsDropped) {
  shut();
  auto first = ask({{1}});
  await_batch(0);
  std::stop_source source;
  auto unwanted = ask({{1}, {2}}, source.get_token());
  source.request_stop();
  open();
  EXPECT_EQ(unwanted.get().error().code, base::ErrorCode::cancelled);
  EXPECT_TRUE(first.get().ok());
  EXPECT_EQ(batches_.size(), 1u);
}

TEST_F(EmbedWorkerTest, AFailureIsToldAndTheNextRequestIsServed) {
  broken_ = true;
  EXPECT_EQ(ask({{1}}).get().error().message, "broken");
  EXPECT_EQ(ask({{1}}).get().error().message, "broken");
}

TEST_F(EmbedWorkerTest, StoppingEndsWhatWaits) {
  shut();
  auto running = ask(std::vector<std::vector<TokenId>>(100, {1, 1, 1, 1}));
  await_batch(0);
  auto waiting = ask({{1}});
  std::thread stopper([this] { worker_.stop(); });
  const auto refused = [&] {
    auto probe = ask({{1}});
    return probe.wait_for(std::chrono::seconds(0)) == std::future_status::ready &&
           probe.get().error().code == base::ErrorCode::unavailable;
  };
  while (!refused()) std::this_thread::yield();
  open();
  stopper.join();
  EXPECT_EQ(waiting.get().error().code, base::ErrorCode::unavailable);
  EXPECT_EQ(running.get().error().code, base::ErrorCode::unavailable);
}

}  // namespace
}  // namespace kvasir::engine

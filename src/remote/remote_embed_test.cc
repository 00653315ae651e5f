#include <gtest/gtest.h>

#include <limits>

#include "remote/codec.h"
#include "remote/remote_embedder.h"
#include "remote/remote_fixture.h"
#include "wire/worker_lost.h"

namespace kvasir::remote {
namespace {

using base::ErrorCode;
using Vectors = base::Result<std::vector<float>>;

// Keeps requests until the test answers them. Thread-safe.
class FedEmbedder final : public seam::EmbedClient {
 public:
  base::Status embed(wire::EmbedRequest request, Done done) override {
    const std::lock_guard lock(mutex_);
    if (refusal_) return *refusal_;
    asked_.push_back({std::move(request), std::move(done)});
    changed_.notify_all();
    return base::ok();
  }
  int dimensions() const override { return 2; }
  wire::WorkerReport report() const override { return {.num_running = 3}; }

  struct Asked {
    wire::EmbedRequest request;
    Done done;
  };
  Asked wait_for(std::size_t number) {
    std::unique_lock lock(mutex_);
    CHECK(changed_.wait_for(lock, 30s, [&] { return asked_.size() > number; }), "no request {}", number);
    return asked_[number];
  }
  void refuse_with(base::Error error) {
    const std::lock_guard lock(mutex_);
    refusal_ = std::move(error);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Asked> asked_;            // guarded by mutex_
  std::optional<base::Error> refusal_;  // guarded by mutex_
};

class RemoteEmbedTest : public RemoteTest {
 protected:
  void SetUp() override {
    WorkerServer::Served served = served_by(nullptr);
    served.card.num_blocks = 0;
    served.embedder = embedder_;
    server_ = serve(std::move(served));
    worker_ = connect(server_->port());
    ASSERT_TRUE(is(*worker_, RemoteWorker::Link::ready));
  }
  std::future<Vectors> ask(std::vector<std::vector<TokenId>> sequences, std::stop_token stop = {}) {
    auto answer = std::make_shared<std::promise<Vectors>>();
    wire::EmbedRequest request;
    request.sequences = std::move(sequences);
    request.stop = std::move(stop);
    const base::Status asked =
        RemoteEmbedder(worker_, 2).embed(std::move(request), [answer](Vectors vectors) {
          answer->set_value(std::move(vectors));
        });
    if (!asked.ok()) answer->set_value(asked.error());
    return answer->get_future();
  }

  std::shared_ptr<FedEmbedder> embedder_ = std::make_shared<FedEmbedder>();
  std::unique_ptr<WorkerServer> server_;
  std::shared_ptr<RemoteWorker> worker_;
};

TEST_F(RemoteEmbedTest, TokensGoAndVectorsCome) {
  EXPECT_EQ(worker_->standing().card->dimensions, 2);
  auto first = ask({{1, 2}, {3}});
  auto second = ask({{4}});
  const auto of_second = embedder_->wait_for(1);
  const auto of_first = embedder_->wait_for(0);
  of_second.done(std::vector<float>(2 * of_second.request.sequences.size(), 0.5F));
  of_first.done(std::vector<float>(2 * of_first.request.sequences.size(), 0.25F));
  EXPECT_EQ(first.get().value().size() + second.get().value().size(), 6u);
  EXPECT_TRUE(becomes_true([&] { return worker_->report().num_running == 3; }));
  EXPECT_TRUE(server_->wait_idle(10s));
}

TEST_F(RemoteEmbedTest, ErrorsOfTheWorkerCome) {
  embedder_->refuse_with({ErrorCode::exhausted, "full", {}, "rate_limit_exceeded", 2});
  const Vectors refused = ask({{1}}).get();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::exhausted);
  EXPECT_EQ(refused.error().reason, "rate_limit_exceeded");
  EXPECT_EQ(refused.error().retry_after_s, 2);
}

TEST_F(RemoteEmbedTest, WhatMakesNoSenseIsRefusedByTheWorker) {
  EXPECT_FALSE(ask({}).get().ok());
  EXPECT_FALSE(ask({{}}).get().ok());
  EXPECT_FALSE(ask({{kVocabSize}}).get().ok());
  EXPECT_FALSE(ask({{-1}}).get().ok());
  EXPECT_FALSE(ask({std::vector<TokenId>(4097, 1)}).get().ok());
}

TEST_F(RemoteEmbedTest, WrongVectorsAreRefusedByTheGateway) {
  for (std::vector<float> wrong : {std::vector<float>{1}, {1, std::numeric_limits<float>::quiet_NaN()}, {}}) {
    static std::size_t number = 0;
    auto answer = ask({{1}});
    embedder_->wait_for(number++).done(wrong);
    const Vectors vectors = answer.get();
    ASSERT_FALSE(vectors.ok());
    EXPECT_EQ(vectors.error().code, ErrorCode::corrupt);
  }
}

TEST_F(RemoteEmbedTest, ARequestThatNobodyWantsIsToldTheWorker) {
  std::stop_source stop;
  auto answer = ask({{1}}, stop.get_token());
  const auto asked = embedder_->wait_for(0);
  stop.request_stop();
  EXPECT_EQ(answer.get().error().code, ErrorCode::cancelled);
  EXPECT_TRUE(becomes_true([&] { return asked.request.stop.stop_requested(); }));
  asked.done(std::vector<float>{1, 2});
  EXPECT_TRUE(server_->wait_idle(10s));
}

TEST_F(RemoteEmbedTest, AWorkerThatDrainsOrIsGoneIsLost) {
  server_->drain();
  EXPECT_TRUE(wire::is_worker_lost(ask({{1}}).get().error()));
  worker_->stop();
  EXPECT_TRUE(wire::is_worker_lost(ask({{1}}).get().error()));
}

TEST_F(RemoteEmbedTest, AGatewayThatEndsWaitsForItsRequests) {
  auto answer = ask({{1}});
  const auto asked = embedder_->wait_for(0);
  worker_->stop();
  EXPECT_FALSE(answer.get().ok());
  asked.done(std::vector<float>{1, 2});
}

TEST_F(RemoteEmbedTest, AWorkerOfTextMakesNoVectors) {
  const auto server = serve(served_by(fed_));
  worker_ = connect(server->port());
  ASSERT_TRUE(is(*worker_, RemoteWorker::Link::ready));
  EXPECT_EQ(ask({{1}}).get().error().code, ErrorCode::unsupported);
}

TEST_F(RemoteEmbedTest, AWorkerOfVectorsGeneratesNoText) {
  EXPECT_FALSE(worker_->generate(request_of({1}), readers_.executor()).ok());
}

}  // namespace
}  // namespace kvasir::remote

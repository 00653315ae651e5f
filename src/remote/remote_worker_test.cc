#include "remote/remote_worker.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include "remote/grammar_slots.h"
#include "remote/remote_fixture.h"
#include "wire/worker_lost.h"

namespace kvasir::remote {
namespace {

using base::ErrorCode;
using seam::TokenStream;

wire::TokenEvent last_event(std::vector<TokenId> ids) {
  wire::TokenEvent event = tokens_event(std::move(ids));
  event.finish = wire::FinishReason::stop;
  return event;
}

TEST_F(RemoteTest, RequestsGoDownAndEventsComeUpInOrder) {
  const auto server = serve(served_by(fed_));
  const auto worker = connect(server->port());
  ASSERT_TRUE(is(*worker, RemoteWorker::Link::ready));
  EXPECT_EQ(worker->standing().card->fingerprint, "fp_a");
  wire::GenerateRequest request = request_of({1, 2, 3});
  request.origin.tenant = "acme";
  request.priority = -3;
  Received received = ask(*worker, request);
  const FedWorker::Asked asked = fed_->wait_for(0);
  EXPECT_EQ(asked.request.prompt, (std::vector<TokenId>{1, 2, 3}));
  EXPECT_EQ(asked.request.origin.tenant, "acme");
  EXPECT_EQ(asked.request.priority, -3);
  std::vector<TokenId> sent;
  for (TokenId id = 0; id < 50; ++id) {
    TokenStream::send({{asked.stream, id < 49 ? tokens_event({id}) : last_event({id})}});
    sent.push_back(id);
  }
  ASSERT_TRUE(received.wait_end());
  EXPECT_EQ(received.ids(), sent);
  EXPECT_EQ(received.events.back().finish, wire::FinishReason::stop);
  EXPECT_TRUE(becomes_true([&] { return server->stats().num_streams == 0; }));
}

TEST_F(RemoteTest, EventsOfAStepTravelInOneMessage) {
  const auto server = serve(served_by(fed_));
  const auto worker = connect(server->port());
  ASSERT_TRUE(is(*worker, RemoteWorker::Link::ready));
  std::vector<Received> all;
  std::vector<TokenStream::Delivery> step;
  for (std::size_t i = 0; i < 32; ++i) {
    all.push_back(ask(*worker, request_of({1})));
    step.push_back({fed_->wait_for(i).stream, last_event({TokenId(i)})});
  }
  TokenStream::send(std::move(step));
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(all[i].wait_end());
    EXPECT_EQ(all[i].ids(), std::vector<TokenId>{TokenId(i)});
  }
  EXPECT_EQ(server->stats().num_events, 32u);
  EXPECT_EQ(server->stats().num_messages, 1u);
}

TEST_F(RemoteTest, AReaderThatLeavesAbortsItsSequence) {
  const auto server = serve(served_by(fed_));
  const auto worker = connect(server->port());
  ASSERT_TRUE(is(*worker, RemoteWorker::Link::ready));
  Received stays = ask(*worker, request_of({1}));
  Received leaves = ask(*worker, request_of({2}));
  const auto stream = fed_->wait_for(1).stream;
  leaves.leave();
  EXPECT_TRUE(becomes_true([&] { return stream->cancelled(); }));
  EXPECT_FALSE(fed_->wait_for(0).stream->cancelled());
  EXPECT_EQ(server->stats().num_streams, 1);
}

TEST_F(RemoteTest, ASlowReaderCostsItselfAlone) {
  const auto server = serve(served_by(fed_));
  const auto worker = connect(server->port(), 8);
  ASSERT_TRUE(is(*worker, RemoteWorker::Link::ready));
  Received slow = ask(*worker, request_of({1}));
  Received quick = ask(*worker, request_of({2}));
  const auto slow_stream = fed_->wait_for(0).stream;
  const auto quick_stream = fed_->wait_for(1).stream;
  std::vector<TokenId> sent;
  for (TokenId id = 0; id < 100; ++id) {
    sent.push_back(id);
    TokenStream::send({{slow_stream, tokens_event({id})}, {quick_stream, tokens_event({id})}});
    ASSERT_TRUE(becomes_true([&] {
      quick.take();
      return quick.ids() == sent;
    }));
  }
  // Tokens beyond the window stay with the worker, which sees them as backlog.
  EXPECT_LE(slow.backlog(), 8);
  EXPECT_GE(slow_stream->backlog(), 92);
  TokenStream::send({{slow_stream, last_event({})}});
  ASSERT_TRUE(slow.wait_end());
  EXPECT_EQ(slow.ids(), sent);
  EXPECT_EQ(slow_stream->backlog(), 0);
}

TEST_F(RemoteTest, RefusalsOfTheWorkerEndTheStream) {
  const auto server = serve(served_by(fed_));
  const auto worker = connect(server->port());
  ASSERT_TRUE(is(*worker, RemoteWorker::Link::ready));
  fed_->refuse_with(base::Error{ErrorCode::exhausted, "full", "f", "rate_limit_exceeded", 2});
  Received received = ask(*worker, request_of({1}));
  ASSERT_TRUE(received.wait_end());
  EXPECT_EQ(received.error().code, ErrorCode::exhausted);
  EXPECT_EQ(received.error().message, "full");
  EXPECT_EQ(received.error().reason, "rate_limit_exceeded");
  EXPECT_EQ(received.error().retry_after_s, 2);
}

TEST_F(RemoteTest, WhatCannotFitIsRefusedAtOnce) {
  const auto server = serve(served_by(fed_));
  const auto worker = connect(server->port());
  ASSERT_TRUE(is(*worker, RemoteWorker::Link::ready));
  const auto larger_than_the_cache = worker->generate(request_of({1}, 64 * 16 + 1), readers_.executor());
  ASSERT_FALSE(larger_than_the_cache.ok());
  EXPECT_EQ(larger_than_the_cache.error().code, ErrorCode::too_large);
  fed_->set({.num_waiting = 64});
  ASSERT_TRUE(becomes_true([&] { return worker->report().num_waiting == 64; }));
  const auto beyond_the_queue = worker->generate(request_of({1}), readers_.executor());
  ASSERT_FALSE(beyond_the_queue.ok());
  EXPECT_EQ(beyond_the_queue.error().code, ErrorCode::exhausted);
}

TEST_F(RemoteTest, RequestsWithForeignTokensAreRefusedByTheWorker) {
  const auto server = serve(served_by(fed_));
  const auto worker = connect(server->port());
  ASSERT_TRUE(is(*worker, RemoteWorker::Link::ready));
  Received received = ask(*worker, request_of({kVocabSize}));
  ASSERT_TRUE(received.wait_end());
  EXPECT_EQ(received.error().code, ErrorCode::corrupt);
  EXPECT_EQ(fed_->num_asked(), 0u);
  Received next = ask(*worker, request_of({kVocabSize - 1}));  // the connection still works
  TokenStream::send({{fed_->wait_for(0).stream, last_event({7})}});
  EXPECT_TRUE(next.wait_end());
  EXPECT_EQ(next.ids(), std::vector<TokenId>{7});
}

TEST_F(RemoteTest, ALostWorkerEndsItsStreamsAndIsTakenBack) {
  auto server = serve(served_by(fed_));
  const int port = server->port();
  const auto worker = connect(port);
  ASSERT_TRUE(is(*worker, RemoteWorker::Link::ready));
  Received received = ask(*worker, request_of({1}));
  TokenStream::send({{fed_->wait_for(0).stream, tokens_event({5})}});
  ASSERT_TRUE(becomes_true([&] {
    received.take();
    return received.ids().size() == 1;
  }));
  server.reset();
  ASSERT_TRUE(received.wait_end());
  EXPECT_EQ(received.error().code, ErrorCode::unavailable);
  EXPECT_TRUE(wire::is_worker_lost(received.error())) << received.error().reason;
  ASSERT_TRUE(is(*worker, RemoteWorker::Link::connecting));
  const auto refused = worker->generate(request_of({1}), readers_.executor());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason, "worker_lost");
  EXPECT_FALSE(worker->report().progressing);

  server = serve(served_by(fed_), port);
  ASSERT_TRUE(is(*worker, RemoteWorker::Link::ready));
  Received again = ask(*worker, request_of({2}));
  TokenStream::send({{fed_->wait_for(1).stream, last_event({6})}});
  ASSERT_TRUE(again.wait_end());
  EXPECT_EQ(again.ids(), std::vector<TokenId>{6});
}

TEST_F(RemoteTest, AWorkerWithOtherWeightsIsRefusedUntilTheRightOneIsBack) {
  auto server = serve(served_by(fed_));
  const int port = server->port();
  const auto worker = connect(port);
  ASSERT_TRUE(is(*worker, RemoteWorker::Link::ready));
  server.reset();
  server = serve(served_by(fed_, "fp_b"), port);
  ASSERT_TRUE(is(*worker, RemoteWorker::Link::refused));
  EXPECT_NE(worker->standing().reason.find("fp_b"), std::string::npos);
  EXPECT_FALSE(worker->generate(request_of({1}), readers_.executor()).ok());
  EXPECT_EQ(fed_->num_asked(), 0u);
  server.reset();
  server = serve(served_by(fed_), port);
  EXPECT_TRUE(is(*worker, RemoteWorker::Link::ready));
}

TEST_F(RemoteTest, AnotherTokenizerIsAnotherModel) {
  auto server = serve(served_by(fed_));
  const int port = server->port();
  const auto worker = connect(port);
  ASSERT_TRUE(is(*worker, RemoteWorker::Link::ready));
  server.reset();
  WorkerServer::Served other = served_by(fed_);
  other.text.files.front().bytes = "[]";
  server = serve(std::move(other), port);
  EXPECT_TRUE(is(*worker, RemoteWorker::Link::refused));
}

TEST_F(RemoteTest, ADrainingWorkerFinishesAndTakesNothingNew) {
  const auto server = serve(served_by(fed_));
  const auto worker = connect(server->port());
  ASSERT_TRUE(is(*worker, RemoteWorker::Link::ready));
  Received running = ask(*worker, request_of({1}));
  const auto stream = fed_->wait_for(0).stream;
  ASSERT_TRUE(worker->drain().ok());
  ASSERT_TRUE(becomes_true([&] { return worker->standing().draining; }));
  const auto refused = worker->generate(request_of({1}), readers_.executor());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason, "server_draining");
  EXPECT_FALSE(server->wait_idle(0s));
  TokenStream::send({{stream, last_event({3})}});
  ASSERT_TRUE(running.wait_end());
  EXPECT_EQ(running.ids(), std::vector<TokenId>{3});
  EXPECT_TRUE(server->wait_idle(30s));
}

TEST_F(RemoteTest, TextsComeAsTheyAre) {
  const WorkerServer::Served served = served_by(fed_);
  const auto server = serve(served);
  const auto worker = connect(server->port());
  const auto text = worker->read_text();
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_EQ(*text, served.text);
  EXPECT_EQ(digest_of(*text), server->card().text_digest);
}

// Collects the blocks that a worker's cache holds.
class Holdings final : public seam::BlockSink {
 public:
  void on_blocks(wire::BlockChanges changes) override {
    const std::lock_guard lock(mutex_);
    if (changes.anew) hashes_.clear();
    hashes_.insert(hashes_.end(), changes.added.begin(), changes.added.end());
  }
  std::vector<kv::BlockHash> hashes() const {
    const std::lock_guard lock(mutex_);
    return hashes_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<kv::BlockHash> hashes_;
};

TEST_F(RemoteTest, BlocksAreToldAnewAndThenAsTheyChange) {
  fed_->publish({1, 2});
  auto server = serve(served_by(fed_));
  const int port = server->port();
  const auto worker = connect(port);
  const auto holdings = std::make_shared<Holdings>();
  worker->watch_blocks(holdings);
  using Hashes = std::vector<kv::BlockHash>;
  ASSERT_TRUE(becomes_true([&] { return holdings->hashes() == Hashes{{1, 2}}; }));
  fed_->publish({3, 4});
  ASSERT_TRUE(becomes_true([&] { return holdings->hashes() == Hashes{{1, 2}, {3, 4}}; }));
  server.reset();
  fed_->publish({5, 6});
  server = serve(served_by(fed_), port);
  EXPECT_TRUE(becomes_true([&] { return holdings->hashes() == Hashes{{1, 2}, {3, 4}, {5, 6}}; }));
}

TEST_F(RemoteTest, ForecastsAreMadeHere) {
  sched::Outlook outlook;
  outlook.slo = {.ttft_s = 0.5, .tpot_s = 0.05};
  outlook.max_batch_tokens = 512;
  outlook.max_sequences = 8;
  outlook.num_free_tokens = 1e4;
  fed_->set({.num_blocks = 64}, {.outlook = std::make_shared<const sched::Outlook>(outlook)});
  const auto server = serve(served_by(fed_));
  const auto worker = connect(server->port());
  const wire::Outline outline{.tenant = "t", .num_prompt_tokens = 300};
  ASSERT_TRUE(becomes_true([&] { return worker->forecast(outline).is_known(); }));
  const wire::Forecast here = sched::forecast(outlook, {}, outline, 0, 0);
  EXPECT_NEAR(worker->forecast(outline).alone.ttft_s, here.alone.ttft_s, 1e-9);
  // A request that the worker has not reported yet counts too.
  EXPECT_TRUE(worker->forecast(outline).is_idle);
  fed_->refuse_with(std::nullopt);
  Received one = ask(*worker, request_of(std::vector<TokenId>(500, 1)));
  (void)one;
}

TEST_F(RemoteTest, AForecastOfNonsenseIsNone) {
  sched::StepCost::Learned cost{.most_rows = 512, .num_observed = 100};
  cost.weights.fill(1e-3);
  cost.weights[2] = std::numeric_limits<double>::quiet_NaN();
  sched::Outlook outlook;
  outlook.cost = sched::StepCost(cost);
  outlook.slo = {.ttft_s = 0.5, .tpot_s = 0.05};
  outlook.max_batch_tokens = 512;
  outlook.max_sequences = 8;
  fed_->set({.num_blocks = 64, .num_running = 3},
            {.outlook = std::make_shared<const sched::Outlook>(outlook)});
  const auto server = serve(served_by(fed_));
  const auto worker = connect(server->port());
  ASSERT_TRUE(becomes_true([&] { return worker->report().num_running == 3; }));
  const wire::Outline outline{.tenant = "t", .num_prompt_tokens = 300};
  ASSERT_TRUE(std::isnan(sched::forecast(outlook, {}, outline, 0, 0).alone.ttft_s));
  EXPECT_EQ(worker->forecast(outline).alone.ttft_s, 0);
  EXPECT_FALSE(worker->forecast(outline).is_known());
}

TEST_F(RemoteTest, ActivityIsThatOfTheCallBefore) {
  const auto server = serve(served_by(fed_));
  const auto worker = connect(server->port());
  ASSERT_TRUE(is(*worker, RemoteWorker::Link::ready));
  ASSERT_TRUE(becomes_true([&] { return worker->activity(0).steps.size() == 3; }));
  EXPECT_EQ(worker->activity(2).steps.size(), 1u);
}

TEST_F(RemoteTest, GarbageOnThePortHarmsNobody) {
  const auto server = serve(served_by(fed_));
  const auto worker = connect(server->port());
  ASSERT_TRUE(is(*worker, RemoteWorker::Link::ready));
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(100'000, '\xff'),
        std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + std::string(5000, '\0')}) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(server->port()));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    (void)::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ::close(socket);
  }
  Received received = ask(*worker, request_of({1}));
  TokenStream::send({{fed_->wait_for(0).stream, last_event({4})}});
  ASSERT_TRUE(received.wait_end());
  EXPECT_EQ(received.ids(), std::vector<TokenId>{4});
}

TEST_F(RemoteTest, PlainTextStaysOnLoopback) {
  EXPECT_FALSE(check_address("10.0.0.1:7070", {}).ok());
  EXPECT_TRUE(check_address("10.0.0.1:7070", {.allows_plaintext = true}).ok());
  EXPECT_TRUE(check_address("127.0.0.1:7070", {}).ok());
  EXPECT_TRUE(check_address("[::1]:7070", {}).ok());
  EXPECT_FALSE(check_address("127.0.0.1", {}).ok());
  EXPECT_FALSE(check_address("127.0.0.1:70700", {}).ok());
  EXPECT_FALSE(check_address("127.0.0.1.example.com:7070", {}).ok());
}

TEST_F(RemoteTest, GrammarsAreSentOnceAndSlotsAreReused) {
  GrammarSlots slots;
  const auto source = [](int i) {
    return std::make_shared<const grammar::GrammarSource>(
        grammar::GrammarSource{.kind = grammar::GrammarSource::Kind::regex, .text = std::to_string(i)});
  };
  for (int i = 0; i < int(GrammarSlots::kMost); ++i) EXPECT_TRUE(slots.place(source(i)).is_new);
  EXPECT_FALSE(slots.place(source(0)).is_new);
  const GrammarSlots::Place next = slots.place(source(1000));
  EXPECT_TRUE(next.is_new);
  EXPECT_EQ(next.slot, 2u);  // the slot of source 1, since source 0 was used later
  EXPECT_TRUE(slots.place(source(1)).is_new);
}

}  // namespace
}  // namespace kvasir::remote

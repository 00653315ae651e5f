#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/tests_dir_test.h"
#include "config/environment.h"
#include "engine/local_worker.h"
#include "engine/model_runner.h"
#include "model/checkpoint/checkpoint.h"
#include "remote/codec.h"
#include "remote/played_peers.h"
#include "remote/protocol.h"
#include "remote/recording_proxy.h"
#include "remote/remote_fixture.h"

// Recorded gateways and workers of other builds talk to the real peer of this build.
namespace kvasir::host {
namespace {

using namespace remote;

// Serves a golden model, whose weights are in the repository.
class GoldenWorker {
 public:
  GoldenWorker() {
    auto checkpoint = model::open_checkpoint(std::string(base::kTestsDir) + "/golden/models/llama");
    auto decoder = model::Decoder::load(std::move(checkpoint).value(), {}, pool_);
    const model::ModelConfig config = decoder.value()->config();
    auto kv = model::KvCache::create(config, ops::KvType::f16, kNumBlocks);
    auto runner = std::make_unique<engine::ModelRunner>(std::move(decoder).value(), std::move(kv).value());
    worker_ = std::make_shared<engine::LocalWorker>(
        engine::EngineOptions{
            .scheduler = {.num_blocks = kNumBlocks}, .vocab_size = config.vocab_size, .end_tokens = {2}},
        std::move(runner), clock_);
    WorkerServer::Served served{.worker = worker_,
                                .card = {.id = "w",
                                         .model = "llama",
                                         .fingerprint = "golden",
                                         .build = "recorded",
                                         .context_length = kNumBlocks * 16,
                                         .num_blocks = kNumBlocks},
                                .max_queue = 64};
    served.text.vocab_size = config.vocab_size;
    served.text.context_length = kNumBlocks * 16;
    served.text.fingerprint = "golden";
    served.text.files = {{"tokenizer.json", "{}"}, {"config.json", "{\"is\": \"text\"}"}};
    auto server = WorkerServer::start({.listen = "127.0.0.1:0"}, std::move(served));
    CHECK(server.ok(), "{}", server.error().message);
    server_ = std::move(*server);
  }
  ~GoldenWorker() {
    server_.reset();
    worker_->stop();
  }
  int port() const { return server_->port(); }

 private:
  static constexpr int kNumBlocks = 64;
  base::RealClock clock_;
  ops::ComputePool pool_{1};
  std::shared_ptr<engine::LocalWorker> worker_;
  std::unique_ptr<WorkerServer> server_;
};

std::vector<wire::GenerateRequest> recorded_requests() {
  wire::GenerateRequest greedy = request_of({5, 17, 200, 31, 8}, 40);
  greedy.origin = {.request_id = "greedy", .tenant = "acme", .cache_namespace = "acme"};
  greedy.sampling.temperature = 0;
  greedy.ignore_eos = true;
  wire::GenerateRequest seeded = request_of({5, 17, 200, 90}, 24);
  seeded.origin = {.request_id = "seeded", .tenant = "acme"};
  seeded.sampling = {.temperature = 0.8f,
                     .top_p = 0.9f,
                     .presence_penalty = 0.5f,
                     .seed = 7,
                     .logit_bias = {{9, -2.0f}},
                     .logprobs = true,
                     .num_top_logprobs = 2};
  seeded.ignore_eos = true;
  seeded.priority = 3;
  return {greedy, seeded};
}

// Converts the requests of the recorded gateway into those of this build.
std::vector<wire::GenerateRequest> requests_of(const Recording& recording, int vocab_size) {
  std::vector<wire::GenerateRequest> requests;
  for (const Said& said : recording) {
    if (said.who != 'g') continue;
    const auto message = parsed<proto::ToWorker>(said);
    for (const proto::Generate& generate : message.generate()) {
      auto request = decode(generate, vocab_size);
      CHECK(request.ok(), "{}", request.error().message);
      requests.push_back(std::move(*request));
    }
  }
  return requests;
}

class RecordedPeerTest : public testing::Test {
 protected:
  std::shared_ptr<RemoteWorker> connect(int port) {
    // The window is so small that credits are part of the recording, and so large that no stream waits for
    // them: a played gateway cannot send more than was recorded.
    auto worker = RemoteWorker::create({.id = "w",
                                        .address = "127.0.0.1:" + std::to_string(port),
                                        .gateway = "g",
                                        .window_tokens = 48,
                                        .last_retry = 100ms},
                                       timers_.executor());
    CHECK(worker.ok(), "{}", worker.error().message);
    return std::move(*worker);
  }
  // Returns the tokens that this build's gateway gets, by the number of the stream, from 1.
  TokensByStream ask(RemoteWorker& worker, const std::vector<wire::GenerateRequest>& requests) {
    std::vector<Received> all;
    for (const wire::GenerateRequest& request : requests) {
      auto reader = worker.generate(request, readers_.executor());
      CHECK(reader.ok(), "{}", reader.error().message);
      all.emplace_back(readers_, std::move(*reader));
    }
    TokensByStream tokens;
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_TRUE(all[i].wait_end());
      EXPECT_FALSE(all[i].events.back().error) << all[i].error().message;
      tokens[i + 1] = all[i].ids();
    }
    return tokens;
  }
  static bool is(const RemoteWorker& worker, RemoteWorker::Link link) {
    return becomes_true([&] { return worker.standing().link == link; });
  }
  // Records what this build's gateway and worker send to each other.
  Recording record() {
    GoldenWorker golden;
    RecordingProxy proxy(golden.port());
    const auto worker = connect(proxy.port());
    CHECK(is(*worker, RemoteWorker::Link::ready), "the worker was not reached");
    CHECK(worker->read_text().ok(), "the text was not read");
    ask(*worker, recorded_requests());
    worker->stop();
    return proxy.recording();
  }
  // Plays each end against the real other end. Both must give the recorded tokens.
  void play(const Recording& recording) {
    const TokensByStream told = tokens_of(recording);
    ASSERT_EQ(told.size(), 2u);
    ASSERT_EQ(told.at(1).size(), 40u);
    ASSERT_EQ(told.at(2).size(), 24u);
    {
      SCOPED_TRACE("the recorded gateway");
      GoldenWorker golden;
      EXPECT_EQ(PlayedGateway(recording, golden.port()).play(), told);
    }
    SCOPED_TRACE("the recorded worker");
    PlayedWorker played(recording);
    const auto worker = connect(played.port());
    ASSERT_TRUE(is(*worker, RemoteWorker::Link::ready)) << worker->standing().reason;
    const auto text = worker->read_text();
    ASSERT_TRUE(text.ok()) << text.error().message;
    EXPECT_EQ(digest_of(*text), worker->standing().card->text_digest);
    EXPECT_EQ(ask(*worker, requests_of(recording, text->vocab_size)), told);
  }

  Readers timers_;
  Readers readers_;
};

// Changes every message as if a later build had added fields to it and supported one more protocol version.
Recording as_of_a_later_build(Recording recording) {
  const std::string added("\xc2\x3e\x05later", 8);  // field 1000, five bytes
  for (Said& said : recording) {
    if (said.who == 'g') {
      auto message = parsed<proto::ToWorker>(said);
      if (message.has_hello()) message.mutable_hello()->set_newest_protocol(kProtocols.newest + 1);
      for (proto::Generate& generate : *message.mutable_generate())
        generate.ParseFromString(generate.SerializeAsString() + added);
      said.bytes = message.SerializeAsString() + added;
    } else if (said.who == 'w') {
      auto message = parsed<proto::ToGateway>(said);
      if (message.has_card()) message.mutable_card()->set_newest_protocol(kProtocols.newest + 1);
      for (proto::Event& event : *message.mutable_events())
        event.ParseFromString(event.SerializeAsString() + added);
      said.bytes = message.SerializeAsString() + added;
    } else {
      said.bytes += added;
    }
  }
  return recording;
}

// Changes a recording so that its gateway and worker support only this version.
Recording speaking(Recording recording, std::uint32_t version) {
  for (Said& said : recording) {
    if (said.who == 'g') {
      auto message = parsed<proto::ToWorker>(said);
      if (!message.has_hello()) continue;
      message.mutable_hello()->set_protocol(version);
      message.mutable_hello()->clear_newest_protocol();
      said.bytes = message.SerializeAsString();
    } else if (said.who == 'w') {
      auto message = parsed<proto::ToGateway>(said);
      if (!message.has_card()) continue;
      message.mutable_card()->set_protocol(version);
      message.mutable_card()->clear_newest_protocol();
      said.bytes = message.SerializeAsString();
    }
  }
  return recording;
}

// KVASIR_RECORD_TO=FILE saves this build's recording. Do that for each release, into tests/recorded.
TEST_F(RecordedPeerTest, WhatThisBuildSaysCanBePlayed) {
  const Recording recording = record();
  if (const std::string path = config::environment("KVASIR_RECORD_TO"); !path.empty()) save(recording, path);
  play(recording);
}

TEST_F(RecordedPeerTest, OtherBuildsAreServedAndServe) {
  int num_builds = 0;
  for (const auto& file : std::filesystem::directory_iterator(std::string(base::kTestsDir) + "/recorded")) {
    SCOPED_TRACE(file.path().filename());
    play(load_recording(file.path()));
    ++num_builds;
  }
  EXPECT_GE(num_builds, 1);
}

TEST_F(RecordedPeerTest, LaterBuildsAreServedAndServe) {
  const Recording recording = record();
  const Recording later = as_of_a_later_build(recording);
  // Played messages contain the added fields, since readers keep unknown fields.
  EXPECT_EQ(parsed<proto::ToWorker>(later.front()).SerializeAsString().size(), later.front().bytes.size());
  EXPECT_GT(later.front().bytes.size(), recording.front().bytes.size());
  play(later);
}

TEST_F(RecordedPeerTest, BuildsTooFarApartRefuseEachOtherInWords) {
  const Recording recording = speaking(record(), kProtocols.newest + 1);
  GoldenWorker golden;
  const grpc::Status status = PlayedGateway(recording, golden.port()).end();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(),
            "the gateway 'g' speaks version 2 of the protocol, this build version 1: they are too many "
            "releases apart");
  PlayedWorker played(recording);
  const auto worker = connect(played.port());
  ASSERT_TRUE(is(*worker, RemoteWorker::Link::refused));
  EXPECT_NE(worker->standing().reason.find("speaks version 2 of the protocol, this build version 1"),
            std::string::npos)
      << worker->standing().reason;
}

}  // namespace
}  // namespace kvasir::host

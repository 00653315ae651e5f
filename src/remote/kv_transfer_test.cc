// Tests of KV transfers between two workers.
#include <gtest/gtest.h>

#include "remote/kv_fetcher.h"
#include "remote/remote_fixture.h"

namespace kvasir::remote {
namespace {

constexpr std::size_t kBytes = 4096;  // of a block
constexpr int kPrompt = 70;           // tokens: four full blocks and a rest

std::size_t failures(const KvTraffic& traffic, KvFailure why) {
  return traffic.failures[static_cast<std::size_t>(why)];
}

// A worker whose computed prompts the test supplies, and the fetcher of another worker.
class KvTransfer : public RemoteTest {
 protected:
  KvTransfer() {
    fed_->form = {"f16 test", kBytes};
    request.prompt.resize(kPrompt);
    for (int i = 0; i < kPrompt; ++i) request.prompt[static_cast<std::size_t>(i)] = i;
    request.origin = {.request_id = "r", .tenant = "acme", .weight = 2, .cache_namespace = "acme"};
    request.max_tokens = 10;
  }
  void begin(std::size_t memory_bytes = 1 << 20) {
    served_ = served_by(fed_);
    served_.traffic = out;
    server = serve(served_);
    request.prefill = {"127.0.0.1:" + std::to_string(server->port()), patience_s};
    chain = kv::BlockChain({request.origin.cache_namespace, request.num_public_tokens});
    chain.extend(request.prompt);
    in = std::make_shared<KvTraffic>(memory_bytes);
    fetcher = std::make_unique<KvFetcher>(KvFetcher::Options{{}, fingerprint, form}, in);
  }
  // Does what the worker's engine would do after computing block `i`.
  void put(const FedWorker::Asked& asked, std::size_t i, std::string bytes) {
    asked.request.outlet->put(i, kv::sealed(std::move(bytes), chain.hashes()[i]));
  }
  static std::string bytes_of(std::size_t i) { return std::string(kBytes, static_cast<char>('a' + i)); }
  static bool settles(const kv::ArrivingBlocks& arriving) {
    return becomes_true([&] { return arriving.settled(); });
  }

  wire::GenerateRequest request;
  kv::BlockChain chain{kv::CacheScope{}};
  kv::BlockForm form{"f16 test", kBytes};
  std::string fingerprint = "fp_a";
  double patience_s = 20;
  std::shared_ptr<KvTraffic> in;
  std::shared_ptr<KvTraffic> out = std::make_shared<KvTraffic>(1 << 20);
  std::unique_ptr<WorkerServer> server;
  std::unique_ptr<KvFetcher> fetcher;

 private:
  WorkerServer::Served served_;
};

TEST_F(KvTransfer, BlocksComeOneByOneWhileThePromptIsComputed) {
  begin();
  const auto arriving = fetcher->fetch(request, chain, 1);
  ASSERT_TRUE(arriving);
  EXPECT_EQ(arriving->end(), 4u);
  const FedWorker::Asked asked = fed_->wait_for(0);
  EXPECT_EQ(asked.request.prompt.size(), 64u) << "whole blocks";
  EXPECT_EQ(asked.request.first_block, 1);
  EXPECT_EQ(asked.request.origin.tenant, "acme");
  EXPECT_EQ(asked.request.origin.cache_namespace, "acme");
  for (std::size_t i = 1; i < 4; ++i) {
    put(asked, i, bytes_of(i));
    EXPECT_TRUE(becomes_true([&] { return in->in.num_bytes == i * kBytes; }))
        << "before the next one is there";
    EXPECT_EQ(arriving->settled(), i == 3);
  }
  const kv::BlockImages came = arriving->take();
  EXPECT_EQ(came.first, 1u);
  ASSERT_EQ(came.images.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(came.images[i]->bytes, bytes_of(i + 1));
  EXPECT_TRUE(becomes_true([&] { return in->in.num_transfers == 1 && out->out.num_transfers == 1; }));
  EXPECT_EQ(out->out.num_bytes, 3 * kBytes);
  EXPECT_TRUE(becomes_true([&] { return asked.stream->cancelled(); })) << "the token is nobody's";
  EXPECT_TRUE(becomes_true([&] { return server->stats().num_streams == 0; }));
}

// Blocks that were ready before they could be sent show the speed of the connection.
TEST_F(KvTransfer, TheSpeedOfTheWayIsMeasured) {
  fed_->form = form = {"f16 test", 1 << 20};
  out = std::make_shared<KvTraffic>(8 << 20);
  begin(8 << 20);
  std::vector<kv::BlockImage> images;
  for (std::size_t i = 0; i < 4; ++i)
    images.push_back(kv::sealed(std::string(1 << 20, static_cast<char>('a' + i)), chain.hashes()[i]));
  const auto arriving = fetcher->fetch(request, chain, 0);
  const FedWorker::Asked asked = fed_->wait_for(0);
  for (std::size_t i = 0; i < 4; ++i) asked.request.outlet->put(i, std::move(images[i]));
  ASSERT_TRUE(becomes_true([&] { return in->in.num_transfers == 1; }));
  const double bytes_per_s = in->peers.links()->front().bytes_per_s;
  EXPECT_NE(bytes_per_s, wire::kSupposedBytesPerS);
  EXPECT_GT(bytes_per_s, 1e6);
}

TEST_F(KvTransfer, MemoryIsHeldUntilTheBlocksAreUsed) {
  begin();
  auto arriving = fetcher->fetch(request, chain, 0);
  const FedWorker::Asked asked = fed_->wait_for(0);
  for (std::size_t i = 0; i < 4; ++i) put(asked, i, bytes_of(i));
  ASSERT_TRUE(settles(*arriving));
  kv::BlockImages came = arriving->take();
  arriving.reset();
  EXPECT_TRUE(becomes_true([&] { return out->memory->held_bytes() == 0; }));
  EXPECT_EQ(in->memory->held_bytes(), 4 * kBytes);
  came.images.resize(1);
  EXPECT_TRUE(becomes_true([&] { return in->in.num_transfers == 1; }));
  came.images.clear();
  EXPECT_TRUE(becomes_true([&] { return in->memory->held_bytes() == 0; }));
}

TEST_F(KvTransfer, WithoutMemoryNothingIsAskedFor) {
  begin(6 * kBytes);
  const auto first = fetcher->fetch(request, chain, 0);
  ASSERT_TRUE(first);
  EXPECT_FALSE(fetcher->fetch(request, chain, 0));
  EXPECT_EQ(failures(*in, KvFailure::no_memory), 1u);
}

TEST_F(KvTransfer, WhoeverDoesNotWaitEndsIt) {
  begin();
  auto arriving = fetcher->fetch(request, chain, 0);
  const FedWorker::Asked asked = fed_->wait_for(0);
  put(asked, 0, bytes_of(0));
  arriving.reset();
  EXPECT_TRUE(becomes_true([&] { return asked.stream->cancelled(); }));
  EXPECT_TRUE(becomes_true([&] { return failures(*in, KvFailure::late) == 1; }));
  EXPECT_TRUE(becomes_true([&] { return in->memory->held_bytes() == 0 && out->memory->held_bytes() == 0; }));
  EXPECT_TRUE(in->peers.links()->empty()) << "the other worker is not to blame";
}

TEST_F(KvTransfer, ItEndsWithThePatience) {
  patience_s = 0.2;
  begin();
  const auto arriving = fetcher->fetch(request, chain, 0);
  put(fed_->wait_for(0), 0, bytes_of(0));
  ASSERT_TRUE(settles(*arriving));
  EXPECT_LE(arriving->take().images.size(), 1u);
  EXPECT_TRUE(becomes_true([&] { return failures(*in, KvFailure::late) == 1; }));
  ASSERT_TRUE(becomes_true([&] { return in->peers.version() == 1; }));
  EXPECT_EQ(in->peers.links()->front().num_failed, 1u);
}

TEST_F(KvTransfer, ABlockThatWasChangedEndsItAfterThoseBeforeIt) {
  begin();
  for (const char* how : {"bytes", "another block", "size", "order"}) {
    SCOPED_TRACE(how);
    const std::size_t before = failures(*in, KvFailure::corrupt);
    const auto arriving = fetcher->fetch(request, chain, 0);
    const FedWorker::Asked asked = fed_->wait_for(before);
    put(asked, 0, bytes_of(0));
    kv::BlockImage image = kv::sealed(bytes_of(1), chain.hashes()[1]);
    std::size_t index = 1;
    if (how == std::string("bytes")) image.bytes[100] ^= 1;
    if (how == std::string("another block")) image = kv::sealed(bytes_of(1), chain.hashes()[2]);
    if (how == std::string("size")) image = kv::sealed(bytes_of(1) + "x", chain.hashes()[1]);
    if (how == std::string("order")) index = 2;
    asked.request.outlet->put(index, std::move(image));
    ASSERT_TRUE(settles(*arriving));
    EXPECT_EQ(arriving->take().images.size(), 1u);
    EXPECT_TRUE(becomes_true([&] { return failures(*in, KvFailure::corrupt) == before + 1; }));
    EXPECT_TRUE(becomes_true([&] { return asked.stream->cancelled(); }));
    EXPECT_EQ(in->peers.links()->front(), (wire::KvLink{request.prefill->address, 0, before + 1, false}));
  }
}

TEST_F(KvTransfer, AnEngineThatFailsEndsIt) {
  begin();
  const auto arriving = fetcher->fetch(request, chain, 0);
  const FedWorker::Asked asked = fed_->wait_for(0);
  put(asked, 0, bytes_of(0));
  wire::TokenEvent event;
  event.error = base::error(base::ErrorCode::unavailable, "the device is gone");
  seam::TokenStream::send({{asked.stream, event}});
  ASSERT_TRUE(settles(*arriving));
  EXPECT_TRUE(becomes_true([&] { return failures(*in, KvFailure::lost) == 1; }));
}

TEST_F(KvTransfer, AWorkerThatIsGoneEndsIt) {
  begin();
  const auto arriving = fetcher->fetch(request, chain, 0);
  put(fed_->wait_for(0), 0, bytes_of(0));
  EXPECT_TRUE(becomes_true([&] { return in->in.num_bytes == kBytes; }));
  server.reset();
  ASSERT_TRUE(settles(*arriving));
  EXPECT_EQ(arriving->take().images.size(), 1u);
  const auto nobody = fetcher->fetch(request, chain, 0);
  ASSERT_TRUE(settles(*nobody));
  EXPECT_TRUE(
      becomes_true([&] { return failures(*in, KvFailure::lost) + failures(*in, KvFailure::late) == 2; }));
}

TEST_F(KvTransfer, OthersAreRefused) {
  fingerprint = "fp_b";
  begin();
  ASSERT_TRUE(settles(*fetcher->fetch(request, chain, 0)));
  EXPECT_TRUE(becomes_true([&] { return failures(*in, KvFailure::refused) == 1; }));
  fingerprint = "fp_a";
  form.name = "bf16 test";
  begin();
  ASSERT_TRUE(settles(*fetcher->fetch(request, chain, 0)));
  EXPECT_TRUE(becomes_true([&] { return failures(*in, KvFailure::refused) == 1; }));
  form.name = "f16 test";
  begin();
  request.prompt[3] = kVocabSize;
  ASSERT_TRUE(settles(*fetcher->fetch(request, chain, 0)));
  EXPECT_TRUE(becomes_true([&] { return failures(*in, KvFailure::refused) == 1; }));
  EXPECT_EQ(fed_->num_asked(), 0u);
}

TEST_F(KvTransfer, ADrainingWorkerComputesForNobodyElse) {
  begin();
  server->drain();
  ASSERT_TRUE(settles(*fetcher->fetch(request, chain, 0)));
  EXPECT_TRUE(becomes_true([&] { return failures(*in, KvFailure::lost) == 1; }));
  EXPECT_EQ(fed_->num_asked(), 0u);
}

TEST_F(KvTransfer, WhatIsCachedOrTooShortIsNotAskedFor) {
  begin();
  EXPECT_FALSE(fetcher->fetch(request, chain, 4));
  request.prompt.resize(16);  // its only block has the last token
  EXPECT_FALSE(fetcher->fetch(request, chain, 0));
  request.prefill->address = "192.0.2.1:7070";  // no plain text beyond loopback
  request.prompt.resize(kPrompt);
  EXPECT_FALSE(fetcher->fetch(request, chain, 0));
  EXPECT_EQ(failures(*in, KvFailure::refused), 1u);
}

// Follows a request from the gateway to the engine.
TEST_F(KvTransfer, AWorkerAsksForWhatItsGatewayNames) {
  begin();
  const auto answers = std::make_shared<FedWorker>();
  answers->form = form;
  answers->num_cached = 2;
  WorkerServer::Served served = served_by(answers);
  served.traffic = in;
  const auto its_server = serve(std::move(served));
  const auto worker = connect(its_server->port());
  ASSERT_TRUE(is(*worker, RemoteWorker::Link::ready));
  EXPECT_EQ(worker->standing().card->kv, form);
  const Received received = ask(*worker, request);
  const FedWorker::Asked computes = fed_->wait_for(0);
  EXPECT_EQ(computes.request.first_block, 2);
  const FedWorker::Asked asked = answers->wait_for(0);
  ASSERT_TRUE(asked.request.arriving);
  for (std::size_t i = 2; i < 4; ++i) put(computes, i, bytes_of(i));
  ASSERT_TRUE(settles(*asked.request.arriving));
  EXPECT_EQ(asked.request.arriving->take().images.size(), 2u);
  EXPECT_EQ(asked.request.prompt, request.prompt);
  // The gateway learns how the transfer ended.
  const auto links = [&] { return worker->report().kv_links; };
  ASSERT_TRUE(becomes_true([&] { return links() && links()->size() == 1; }));
  EXPECT_EQ(links()->front(), (wire::KvLink{.address = request.prefill->address, .num_good = 1}));
  request.num_prompt_logprobs = 1;
  const Received whole = ask(*worker, request);
  EXPECT_FALSE(answers->wait_for(1).request.arriving);
}

}  // namespace
}  // namespace kvasir::remote

#include "engine/device_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include "base/check.h"
#include "base/tests_dir_test.h"
#include "engine/engine_bench_test.h"
#include "engine/model_runner.h"
#include "model/checkpoint/checkpoint.h"
#include "model/decoder/sequence_runner.h"

namespace kvasir::engine {
namespace {

constexpr int kBlocks = 160;

std::unique_ptr<model::Decoder> load(ops::ComputePool& pool) {
  auto checkpoint = model::open_checkpoint(std::string(base::kTestsDir) + "/golden/models/qwen2");
  auto decoder = model::Decoder::load(std::move(checkpoint).value(), {}, pool);
  return std::move(decoder).value();
}

model::KvCache make_kv(const model::Decoder& decoder) {
  auto kv = model::KvCache::create(decoder.config(), ops::KvType::f16, kBlocks);
  return std::move(kv).value();
}

// The CPU's decoder in the role of a device. It finds the largest logits itself, leaves random draws to the
// host, and can spoil a row.
class CpuDevice final : public model::DeviceDecoder {
 public:
  explicit CpuDevice(ops::ComputePool& pool) : decoder_(load(pool)), kv_(make_kv(*decoder_)) {}

  const model::ModelConfig& config() const override { return decoder_->config(); }
  int num_blocks() const override { return kBlocks; }
  std::int64_t kv_block_bytes() const override { return 1; }
  base::Status reserve_kv(int /*num_blocks*/) override { return base::ok(); }
  void copy_block(std::int32_t from, std::int32_t to) override { kv_.copy_block(from, to); }

  void start(const model::StepBatch& batch, std::span<const model::RowDraw> draws) override {
    CHECK(started_.size() < 2, "a third step");
    const auto vocab = static_cast<std::size_t>(config().vocab_size);
    model::StepBatch known = batch;
    for (TokenId& token : known.tokens) {
      if (token >= 0) continue;
      ++num_in_flight;
      token = last_[static_cast<std::size_t>(-1 - token)].token;
    }
    logits_.resize(draws.size() * vocab);
    decoder_->forward(known, kv_, logits_);
    last_.clear();
    for (std::size_t i = 0; i < draws.size(); ++i) {
      const auto row = std::span(logits_).subspan(i * vocab, vocab);
      const TokenId best = model::argmax(row);
      last_.push_back({draws[i].temperature > 0 ? -1 : best, row[static_cast<std::size_t>(best)]});
      if (spoils) last_.back().largest = std::numeric_limits<float>::infinity();
    }
    started_.push_back(last_);
  }

  base::Status collect(std::span<model::RowChoice> choices) override {
    CHECK(!started_.empty() && started_.front().size() == choices.size(), "other choices");
    std::ranges::copy(started_.front(), choices.begin());
    started_.pop_front();
    return ++num_collected == fails_at ? lost() : base::ok();
  }

  base::Status fetch_logits(int row, std::span<float> logits) override {
    if (++num_fetched == fails_at_fetch) return lost();
    const auto from = logits_.begin() + static_cast<std::ptrdiff_t>(row) * config().vocab_size;
    std::copy_n(from, logits.size(), logits.begin());
    return base::ok();
  }

  int num_fetched = 0;
  int num_in_flight = 0;
  int num_collected = 0;
  int fails_at = 0;        // this collect() fails
  int fails_at_fetch = 0;  // this fetch_logits() fails
  bool spoils = false;

 private:
  static base::Status lost() { return base::error(base::ErrorCode::internal, "the device is lost"); }

  std::unique_ptr<model::Decoder> decoder_;
  model::KvCache kv_;
  std::vector<float> logits_;
  std::vector<model::RowChoice> last_;
  std::deque<std::vector<model::RowChoice>> started_;
};

EngineOptions options() {
  return {.scheduler = {.num_blocks = kBlocks, .max_batch_tokens = 48, .max_batch_sequences = 8},
          .vocab_size = 320,
          .end_tokens = {2}};
}

wire::GenerateRequest greedy(int first) {
  wire::GenerateRequest request;
  for (int i = 0; i < 30; ++i) request.prompt.push_back(3 + (first + 7 * i) % 300);
  request.sampling.temperature = 0;
  request.max_tokens = 12;
  return request;
}

std::vector<wire::GenerateRequest> mixed_requests() {
  std::vector<wire::GenerateRequest> requests(6, greedy(0));
  requests[1] = greedy(5);
  requests[2].sampling.temperature = 0.9f;
  requests[2].sampling.seed = 11;
  requests[3].sampling.frequency_penalty = 0.5f;
  requests[4].sampling.logprobs = true;
  requests[5].min_tokens = 6;
  requests[5].stop_tokens = {7};
  return requests;
}

std::vector<std::vector<TokenId>> run(Runner& runner, const std::vector<wire::GenerateRequest>& requests) {
  EngineBench bench(options(), runner);
  std::vector<Answer*> answers;
  for (const auto& request : requests) answers.push_back(&bench.submit(request));
  bench.finish();
  std::vector<std::vector<TokenId>> tokens;
  for (const Answer* answer : answers) {
    EXPECT_TRUE(answer->end->finish);
    tokens.push_back(answer->tokens);
  }
  return tokens;
}

TEST(DeviceRunner, GivesWhatTheCpusRunnerGives) {
  ops::ComputePool pool(2);
  auto decoder = load(pool);
  auto kv = make_kv(*decoder);
  ModelRunner on_cpu(std::move(decoder), std::move(kv));
  DeviceRunner on_device(std::make_unique<CpuDevice>(pool), pool);
  EXPECT_EQ(run(on_device, mixed_requests()), run(on_cpu, mixed_requests()));
}

// Steps overlap if all sequences are greedy. One sequence that the host draws makes every step wait.
TEST(DeviceRunner, TokensThatTheHostHasNotSeenAreFed) {
  ops::ComputePool pool(2);
  auto decoder = load(pool);
  auto kv = make_kv(*decoder);
  ModelRunner on_cpu(std::move(decoder), std::move(kv));
  std::vector<wire::GenerateRequest> requests(4, greedy(0));
  requests[1] = greedy(5);
  requests[2].max_tokens = 1;
  requests[3] = greedy(11);
  requests[3].ignore_eos = true;
  const auto expected = run(on_cpu, requests);
  auto device = std::make_unique<CpuDevice>(pool);
  CpuDevice& seen = *device;
  DeviceRunner runner(std::move(device), pool);
  EXPECT_EQ(run(runner, requests), expected);
  EXPECT_GE(seen.num_in_flight, 11);
  seen.num_in_flight = 0;
  requests[0].sampling.presence_penalty = 1;
  requests[0].ignore_eos = true;
  requests.resize(1);
  run(runner, requests);
  EXPECT_EQ(seen.num_in_flight, 0);
}

TEST(DeviceRunner, FetchesLogitsOnlyForWhatTheDeviceCannotDraw) {
  ops::ComputePool pool(1);
  auto device = std::make_unique<CpuDevice>(pool);
  CpuDevice& seen = *device;
  DeviceRunner runner(std::move(device), pool);
  run(runner, {greedy(0), greedy(5)});
  EXPECT_EQ(seen.num_fetched, 0);
  wire::GenerateRequest penalized = greedy(9);
  penalized.sampling.presence_penalty = 1;
  penalized.ignore_eos = true;
  const auto tokens = run(runner, {greedy(0), penalized});
  EXPECT_EQ(seen.num_fetched, static_cast<int>(tokens[1].size()));
}

TEST(DeviceRunner, LogitsThatAreNoNumbersEndTheSequence) {
  ops::ComputePool pool(1);
  auto device = std::make_unique<CpuDevice>(pool);
  device->spoils = true;
  DeviceRunner runner(std::move(device), pool);
  EngineBench bench(options(), runner);
  const Answer& answer = bench.submit(greedy(0));
  bench.finish();
  ASSERT_TRUE(answer.end->error);
  EXPECT_EQ(answer.end->error->code, base::ErrorCode::internal);
}

TEST(DeviceRunner, ALostDeviceEndsEverySequence) {
  ops::ComputePool pool(1);
  for (const bool drawn_on_host : {false, true}) {
    auto device = std::make_unique<CpuDevice>(pool);
    (drawn_on_host ? device->fails_at_fetch : device->fails_at) = 5;
    DeviceRunner runner(std::move(device), pool);
    EngineBench bench(options(), runner);
    for (int i = 0; i < 3; ++i) {
      wire::GenerateRequest request = greedy(i);
      request.ignore_eos = true;
      if (drawn_on_host) request.sampling.presence_penalty = 1;
      bench.submit(request);
    }
    bench.finish();
    ASSERT_TRUE(bench.engine.failure());
    EXPECT_EQ(bench.engine.failure()->message, "the device is lost");
    for (const auto& answer : bench.answers) {
      ASSERT_TRUE(answer->end->error);
      EXPECT_EQ(answer->end->error->reason, "engine_failed");
    }
  }
}

}  // namespace
}  // namespace kvasir::engine

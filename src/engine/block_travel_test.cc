// KV that leaves one engine and enters another.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/tests_dir_test.h"
#include "engine/engine_bench_test.h"
#include "engine/model_runner.h"
#include "engine/toy_runner_test.h"
#include "model/checkpoint/checkpoint.h"
#include "ops/cpu/compute_pool.h"

namespace kvasir::engine {
namespace {

struct Outlet final : kv::BlockOutlet {
  void put(std::size_t index, kv::BlockImage image) override {
    EXPECT_EQ(index, first + images.size());
    images.push_back(std::make_shared<const kv::BlockImage>(std::move(image)));
  }
  std::size_t first = 0;
  std::vector<std::shared_ptr<const kv::BlockImage>> images;
};

// A golden model in an engine with a cache of its own.
class ModelBench {
 public:
  ModelBench(const std::string& name, ops::KvType type) {
    auto checkpoint = model::open_checkpoint(std::string(base::kTestsDir) + "/golden/models/" + name);
    auto decoder = model::Decoder::load(std::move(checkpoint).value(), {}, pool_);
    const model::ModelConfig config = decoder.value()->config();
    auto kv = model::KvCache::create(config, type, 64);
    runner = std::make_unique<ModelRunner>(std::move(decoder).value(), std::move(kv).value());
    bench =
        std::make_unique<EngineBench>(EngineOptions{.scheduler = {.num_blocks = 64, .max_batch_tokens = 40},
                                                    .vocab_size = config.vocab_size},
                                      *runner);
  }
  Answer& run(wire::GenerateRequest request) {
    Answer& answer = bench->submit(std::move(request));
    bench->finish();
    return answer;
  }

 private:
  ops::ComputePool pool_{2};

 public:
  std::unique_ptr<ModelRunner> runner;
  std::unique_ptr<EngineBench> bench;
};

wire::GenerateRequest request_of(int num_tokens, int max_tokens) {
  wire::GenerateRequest request;
  for (int i = 0; i < num_tokens; ++i) request.prompt.push_back(3 + i * 7 % 300);
  request.max_tokens = max_tokens;
  request.ignore_eos = true;
  request.sampling.temperature = 0.8f;
  request.sampling.seed = 7;
  request.sampling.logprobs = true;
  return request;
}

TEST(BlockTravel, AnotherEngineGoesOnWithTheSameBits) {
  constexpr int kPrompt = 75;
  constexpr std::size_t kFull = kPrompt / kv::kBlockTokens;
  for (const std::string name : {"llama", "deepseek_v3"})
    for (const ops::KvType type :
         {ops::KvType::f32, ops::KvType::f16, ops::KvType::bf16, ops::KvType::int8}) {
      if (name == "deepseek_v3" && type == ops::KvType::int8) continue;
      SCOPED_TRACE(testing::Message() << name << " with " << ops::name(type));
      ModelBench alone(name, type);
      const Answer& expected = alone.run(request_of(kPrompt, 30));
      ASSERT_EQ(expected.tokens.size(), 30u);

      ModelBench computes(name, type);
      auto outlet = std::make_shared<Outlet>();
      wire::GenerateRequest prefill = request_of(kPrompt, 1);
      prefill.outlet = outlet;
      computes.run(std::move(prefill));
      ASSERT_EQ(outlet->images.size(), kFull);

      ModelBench answers(name, type);
      EXPECT_EQ(answers.runner->block_form(), computes.runner->block_form());
      wire::GenerateRequest request = request_of(kPrompt, 30);
      kv::BlockChain chain({});
      chain.extend(request.prompt);
      request.arriving = std::make_shared<kv::ArrivingBlocks>(0, kFull, 10);
      for (std::size_t i = 0; i < kFull; ++i) {
        EXPECT_TRUE(kv::is_intact(*outlet->images[i], chain.hashes()[i]));
        EXPECT_FALSE(kv::is_intact(*outlet->images[i], chain.hashes()[(i + 1) % kFull]));
        request.arriving->add(outlet->images[i]);
      }
      const Answer& got = answers.run(std::move(request));
      EXPECT_EQ(got.tokens, expected.tokens);
      EXPECT_EQ(got.logprobs, expected.logprobs);
      const EngineStats stats = answers.bench->engine.stats();
      EXPECT_EQ(stats.sequences.num_loaded_blocks, std::int64_t{kFull});
      EXPECT_EQ(stats.sequences.num_prefill_tokens, kPrompt - int(kFull) * kv::kBlockTokens);
    }
}

TEST(BlockTravel, OtherNumbersAreAnotherForm) {
  const auto form = [](ops::KvType type) { return ModelBench("llama", type).runner->block_form(); };
  EXPECT_NE(form(ops::KvType::f16), form(ops::KvType::bf16));
  EXPECT_EQ(form(ops::KvType::f32).num_bytes, 2 * form(ops::KvType::f16).num_bytes);
}

class TravelPace : public testing::TestWithParam<ToyRunner::Pace> {};
INSTANTIATE_TEST_SUITE_P(BlockTravel, TravelPace,
                         testing::Values(ToyRunner::Pace::one_by_one, ToyRunner::Pace::overlapped));

// Prompts that share beginnings move from one engine to another. The other engine gets all, some or none of
// their blocks, at any time, while it serves others. The caches are too small for all of them.
TEST_P(TravelPace, WhateverComesTheAnswersAreRight) {
  std::mt19937 random(11);
  const auto below = [&random](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 20; ++round) {
    const int num_blocks = 24 + below(60);
    const EngineOptions options{.scheduler = {.num_blocks = num_blocks, .max_batch_tokens = 48},
                                .vocab_size = ToyRunner::kVocabSize};
    ToyRunner far_runner(num_blocks, GetParam()), runner(num_blocks, GetParam());
    EngineBench far(options, far_runner), near(options, runner);
    struct Case {
      wire::GenerateRequest request;
      std::shared_ptr<Outlet> outlet;
      std::weak_ptr<kv::ArrivingBlocks> arriving;
      std::size_t num_given = 0;
      std::size_t num_to_give = 0;
      Answer* answer = nullptr;
    };
    std::vector<Case> cases(12);
    for (Case& one : cases) {
      const int length = 20 + below(200);
      const int shared = below(length);
      const TokenId salt = below(900);
      for (int i = 0; i < length; ++i) one.request.prompt.push_back(((i < shared ? 0 : salt) + i * 7) % 900);
      one.request.max_tokens = 1 + below(20);
      one.request.sampling.seed = 3;
      one.outlet = std::make_shared<Outlet>();
      one.outlet->first = static_cast<std::size_t>(below(3) == 0 ? 1 : 0);
      wire::GenerateRequest prefill = one.request;
      prefill.max_tokens = 1;
      prefill.outlet = one.outlet;
      prefill.first_block = static_cast<int>(one.outlet->first);
      far.submit(std::move(prefill));
      if (below(2) == 0) far.step();
    }
    far.finish();
    for (Case& one : cases) {
      const std::size_t end = one.request.prompt.size() / kv::kBlockTokens;
      ASSERT_EQ(one.outlet->first + one.outlet->images.size(), std::max(end, one.outlet->first));
      auto arriving = std::make_shared<kv::ArrivingBlocks>(one.outlet->first, end, 1.0);
      one.num_to_give = one.outlet->images.size() * static_cast<std::size_t>(below(3)) / 2;
      one.arriving = arriving;
      wire::GenerateRequest request = one.request;
      request.arriving = std::move(arriving);
      one.answer = &near.submit(std::move(request));
    }
    for (int i = 0; i < 10000 && !near.engine.idle(); ++i) {
      for (Case& one : cases)
        if (const auto arriving = one.arriving.lock(); arriving && one.num_given < one.num_to_give)
          arriving->add(one.outlet->images[one.num_given++]);
      near.clock.advance(std::chrono::milliseconds(20));
      near.step();
    }
    near.finish();
    for (const Case& one : cases) {
      std::vector<TokenId> known = one.request.prompt;
      for (int i = 0; i < one.request.max_tokens; ++i) known.push_back(ToyRunner::expected_next(known, 3));
      EXPECT_EQ(one.answer->tokens,
                std::vector<TokenId>(known.begin() + std::ssize(one.request.prompt), known.end()));
    }
    EXPECT_GT(near.engine.stats().sequences.num_loaded_blocks, 0);
  }
}

}  // namespace
}  // namespace kvasir::engine

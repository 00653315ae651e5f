#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "model/cuda/random_decoder_test.h"
#include "model/decoder/sequence_runner.h"
#include "ops/cuda/device.h"
#include "ops/cuda/lone_row.h"

namespace kvasir::model {
namespace {

struct Variant {
  std::string name;
  std::function<void(ModelConfig& config)> change;
  int length = 700;  // of the sequence
};

class LoneRow : public testing::TestWithParam<Variant> {};

INSTANTIATE_TEST_SUITE_P(
    Cuda, LoneRow,
    testing::Values(
        Variant{"plain", [](ModelConfig&) {}},
        Variant{"a_head_each", [](ModelConfig& c) { c.num_kv_heads = 8; }},
        Variant{"eight_heads_share_one", [](ModelConfig& c) { c.num_kv_heads = 1; }},
        Variant{"seven_heads_share_one", [](ModelConfig& c) { c.num_heads = 7, c.num_kv_heads = 1; }},
        // With 132 multiprocessors, each of 32 KV heads has 4 parts, which take 512 tokens a round.
        Variant{"several_rounds", [](ModelConfig& c) { c.num_heads = c.num_kv_heads = 32; }, 2300},
        Variant{"norms_of_heads", [](ModelConfig& c) { c.qk_norm = QkNorm::heads; }},
        Variant{"pairs_of_neighbours", [](ModelConfig& c) { c.rope.style = ops::RopeStyle::interleaved; }},
        Variant{"half_rotated", [](ModelConfig& c) { c.rope.dim = c.head_dim / 2; }},
        Variant{"not_rotated", [](ModelConfig& c) { c.layers[1].rope = RopeUse::none; }},
        Variant{"sliding_window", [](ModelConfig& c) { c.layers[1].sliding_window = 300; }},
        Variant{"softcap", [](ModelConfig& c) { c.attention_softcap = 2, c.attention_scale = 1; }},
        Variant{"scaled_residual", [](ModelConfig& c) { c.residual_scale = 0.3f; }},
        Variant{"gelu", [](ModelConfig& c) { c.activation = ops::Activation::gelu_tanh; }},
        Variant{"odd_sizes", [](ModelConfig& c) { c.hidden_size = 528, c.intermediate_size = 1360; }},
        Variant{"biases", [](ModelConfig& c) { c.qkv_bias = true; }},
        // Rows come in 4 pieces of 2,432 bytes, because 19 pieces of 512 bytes would be too small.
        Variant{"uneven_pieces", [](ModelConfig& c) { c.intermediate_size = 4864; }},
        Variant{"vocabulary", [](ModelConfig& c) { c.vocab_size = 40003; }},
        Variant{"large", [](ModelConfig& c) { c.hidden_size = 4096, c.intermediate_size = 14336; }},
        Variant{"tied", [](ModelConfig& c) { c.tied_embeddings = true; }}),
    [](const auto& info) { return info.param.name; });

constexpr int kDecoded = 24;  // tokens fed one by one at the beginning, and as many at the end

struct Decoded {
  std::vector<std::vector<float>> rows;
  std::int64_t num_lone_row_steps = 0;
  bool operator==(const Decoded&) const = default;
};

Decoded decode(const ModelConfig& config, DeviceOptions options, int length) {
  const std::vector<TokenId> tokens = random_tokens(length, 1);
  const auto decoder = random_decoder(config, options);
  auto runner = SequenceRunner::create(*decoder, length);
  CHECK(runner.ok(), "no runner");
  std::vector<std::vector<float>> rows;
  const auto feed = [&](int first, int count) {
    const auto logits = runner->feed(
        std::span(tokens).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)), 1);
    rows.emplace_back(logits.begin(), logits.end());
  };
  for (int i = 0; i < kDecoded; ++i) feed(i, 1);  // begins with an empty sequence
  for (int at = kDecoded; at < length - kDecoded; at += 500) feed(at, std::min(500, length - kDecoded - at));
  for (int i = length - kDecoded; i < length; ++i) feed(i, 1);
  return {std::move(rows), decoder->num_lone_row_steps()};
}

// Checks that one kernel for the whole step gives about the same logits as one kernel for each operation.
TEST_P(LoneRow, IsNearTheSameInSteps) {
  for (const int head_dim : {64, 128}) {
    ModelConfig config = dense_config(head_dim);
    GetParam().change(config);
    for (const WeightNumbers weights : {WeightNumbers::same, WeightNumbers::fp8}) {
      for (const bool fp8_kv : {false, true}) {
        SCOPED_TRACE(testing::Message() << "head_dim " << head_dim << " fp8 "
                                        << (weights == WeightNumbers::fp8) << " KV " << fp8_kv);
        ASSERT_EQ(ops::cuda::lone_row_takes({.quantized = weights == WeightNumbers::fp8,
                                             .hidden = config.hidden_size,
                                             .inner = config.intermediate_size,
                                             .num_heads = config.num_heads,
                                             .num_kv_heads = config.num_kv_heads,
                                             .head_dim = head_dim,
                                             .vocab = config.vocab_size}),
                  ops::cuda::architecture() == 90);
        const auto run = [&](int max_own_rows) {
          return decode(config, {.max_own_rows = max_own_rows, .fp8_kv = fp8_kv, .weights = weights},
                        GetParam().length);
        };
        const Decoded by_steps = run(0);
        const Decoded lone = run(64);
        // Otherwise the test would compare the other kernels with themselves.
        EXPECT_EQ(by_steps.num_lone_row_steps, 0);
        EXPECT_EQ(lone.num_lone_row_steps, ops::cuda::architecture() == 90 ? 2 * kDecoded : 0);
        const auto& wanted = by_steps.rows;
        const auto& got = lone.rows;
        ASSERT_EQ(got.size(), wanted.size());
        // With fp8, the kernels for single operations round x to e4m3, too.
        const double bound = weights == WeightNumbers::fp8 ? 0.25 : 0.03;
        for (std::size_t i = 0; i < got.size(); ++i) EXPECT_LT(relative_error(got[i], wanted[i]), bound) << i;
      }
    }
  }
}

// Checks that a step always gives the same bits, whichever thread block comes first.
TEST(LoneRow, IsAlwaysTheSame) {
  ModelConfig config = dense_config(128);
  config.hidden_size = 1024;
  const Decoded first = decode(config, {}, 900);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(decode(config, {}, 900), first);
}

// The kernels of both decoders need every multiprocessor. Neither may hold one that the other waits for.
TEST(LoneRow, TwoDecodersRunAtOnce) {
  const ModelConfig config = dense_config(128);
  const std::unique_ptr<DeviceDecoder> decoders[2] = {random_decoder(config, DeviceOptions{}),
                                                      random_decoder(config, DeviceOptions{})};
  const std::vector<std::int32_t> blocks = {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const std::vector<TokenId> tokens = random_tokens(200, 2);
  std::vector<RowChoice> choices[2] = {std::vector<RowChoice>(1), std::vector<RowChoice>(1)};
  for (int i = 0; i < 200; ++i) {
    StepBatch batch;
    batch.tokens = {tokens[static_cast<std::size_t>(i)]};
    batch.slices.push_back({0, 1, i, blocks});
    batch.logit_rows = {0};
    for (const auto& decoder : decoders) {
      decoder->start(batch);
      decoder->draw(std::vector<RowDraw>(1));
    }
    for (int d = 0; d < 2; ++d) ASSERT_TRUE(decoders[d]->collect(choices[d]).ok());
    ASSERT_EQ(choices[0][0].token, choices[1][0].token) << i;
    ASSERT_EQ(choices[0][0].largest, choices[1][0].largest) << i;
  }
}

}  // namespace
}  // namespace kvasir::model

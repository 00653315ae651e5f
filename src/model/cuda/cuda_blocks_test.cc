#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/tests_dir_test.h"
#include "model/checkpoint/checkpoint.h"
#include "model/cuda/random_decoder_test.h"
#include "model/decoder/decoder.h"

namespace kvasir::model {
namespace {

std::vector<float> logits_of(DeviceDecoder& decoder, std::vector<TokenId> tokens, int computed,
                             const std::vector<std::int32_t>& blocks) {
  StepBatch batch;
  batch.tokens = std::move(tokens);
  const auto rows = static_cast<int>(batch.tokens.size());
  batch.slices.push_back({0, rows, computed, blocks});
  batch.logit_rows = {rows - 1};
  const std::vector<RowDraw> draws(1);
  std::vector<RowChoice> choices(1);
  CHECK(decoder.forward(batch, draws, choices).ok(), "the device failed");
  std::vector<float> logits(static_cast<std::size_t>(decoder.config().vocab_size));
  CHECK(decoder.fetch_logits(0, logits).ok(), "the device failed");
  return logits;
}

class BlocksOfHeads : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Cuda, BlocksOfHeads, testing::Values(64, 128, 256));

TEST_P(BlocksOfHeads, AnotherDecoderGoesOnWithTheSameBits) {
  const ModelConfig config = dense_config(GetParam());
  for (const DeviceOptions& options :
       {DeviceOptions{.type = tensor::DType::f32}, DeviceOptions{}, DeviceOptions{.fp8_kv = true}}) {
    if (options.fp8_kv && GetParam() == 256) continue;  // fp8 KV does not have heads of this size
    const auto from = random_decoder(config, options);
    const auto to = random_decoder(config, options);
    SCOPED_TRACE(from->block_form());
    EXPECT_EQ(from->block_form(), to->block_form());
    const std::vector<std::int32_t> blocks = {3, 9, 5, 30};
    const std::vector<std::int32_t> blocks_to = {200, 4, 9, 31};
    logits_of(*from, random_tokens(60, 5), 0, blocks);
    std::vector<std::byte> image(static_cast<std::size_t>(from->kv_block_bytes()));
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      from->export_block(blocks[i], image);
      to->import_block(blocks_to[i], image);
      std::vector<std::byte> again(image.size());
      to->export_block(blocks_to[i], again);
      EXPECT_EQ(again, image) << "block " << i;
    }
    EXPECT_EQ(logits_of(*to, {7}, 60, blocks_to), logits_of(*from, {7}, 60, blocks));
  }
}

// Checks that the CPU and the GPU have the same canonical form.
TEST(Cuda, ABlockOfTheGpuIsThatOfTheCpu) {
  const auto open = [] {
    auto checkpoint = open_checkpoint(std::string(base::kTestsDir) + "/golden/models/llama");
    CHECK(checkpoint.ok(), "{}", checkpoint.error().message);
    return std::move(checkpoint).value();
  };
  ops::ComputePool pool(2);
  auto gpu = load_cuda_decoder(
      open(), {.type = tensor::DType::f32, .num_blocks = 8, .max_rows = 64, .max_sequences = 4}, pool);
  ASSERT_TRUE(gpu.ok()) << gpu.error().message;
  auto cpu = Decoder::load(open(), {.precision = ops::Precision::exact}, pool);
  ASSERT_TRUE(cpu.ok());
  auto kv = KvCache::create((*cpu)->config(), ops::KvType::f32, 8);
  ASSERT_TRUE(kv.ok());
  EXPECT_EQ((*gpu)->block_form(), kv->form());
  ASSERT_EQ(static_cast<std::size_t>((*gpu)->kv_block_bytes()), kv->image_bytes());
  const std::vector<std::int32_t> blocks = {6, 2};
  StepBatch batch;
  for (TokenId token = 3; token < 35; ++token) batch.tokens.push_back(token);
  batch.slices.push_back({0, 32, 0, blocks});
  (*cpu)->forward(batch, *kv, {});
  batch.logit_rows = {31};
  const std::vector<RowDraw> draws(1);
  std::vector<RowChoice> choices(1);
  ASSERT_TRUE((*gpu)->forward(batch, draws, choices).ok());
  for (const std::int32_t block : blocks) {
    std::vector<float> here(kv->image_bytes() / sizeof(float));
    std::vector<float> there(here.size());
    kv->export_block(block, std::as_writable_bytes(std::span(here)));
    (*gpu)->export_block(block, std::as_writable_bytes(std::span(there)));
    EXPECT_LT(relative_error(there, here), 1e-3);
  }
}

}  // namespace
}  // namespace kvasir::model

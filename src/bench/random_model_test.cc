#include "bench/random_model.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <string>
#include <vector>

#include "bench/engine_bench.h"
#include "bench/engine_report.h"
#include "bench/machine.h"
#include "bench/random_weights.h"
#include "model/loaded_model.h"
#include "ops/quant/dequantize.h"

namespace kvasir::bench {
namespace {

class RandomModel : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "kvasir_bench_test_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(std::string_view shape, std::string_view type) {
    const std::filesystem::path path = folder_ / "model.gguf";
    const auto written =
        write_random_model(path, **find_shape(shape), *parse_weight_types(type), 1, [](double) {});
    EXPECT_TRUE(written.ok()) << type << ": " << written.error().message;
    return path;
  }

  std::filesystem::path folder_;
};

TEST(RandomWeights, LookLikeATrainedMatrixInEveryType) {
  for (int i = 0; i < tensor::kNumDTypes; ++i) {
    const auto type = static_cast<tensor::DType>(i);
    if (!check_random_type(type).ok()) continue;
    constexpr std::int64_t kNumElems = 256 * 64;
    std::vector<std::byte> bytes(static_cast<std::size_t>(tensor::bytes_of(type, kNumElems)));
    Random random(3);
    fill_random(type, random, bytes);
    std::vector<float> values(kNumElems);
    ops::dequantize(type, bytes.data(), values);
    double sum = 0;
    double squares = 0;
    for (const float value : values) {
      sum += value;
      squares += static_cast<double>(value) * value;
    }
    EXPECT_NEAR(std::sqrt(squares / kNumElems), 0.02, 0.006) << tensor::info(type).name;
    EXPECT_NEAR(sum / kNumElems, 0, 0.004) << tensor::info(type).name;
  }
}

TEST_F(RandomModel, LoadsInEveryTypeAndComputesSomethingFinite) {
  ops::ComputePool pool(1);
  for (const std::string type : {"F32", "BF16", "Q4_0", "Q8_0", "Q2_K", "Q4_K_M", "IQ4_XS"}) {
    auto model = model::open_model(write("tiny", type), {}, pool);
    ASSERT_TRUE(model.ok()) << type << ": " << model.error().message;
    EXPECT_EQ(model->config().vocab_size, 512);
    auto kv = model::KvCache::create(model->config(), ops::KvType::f16, 1).value();
    std::vector<float> logits(512);
    const std::vector<std::int32_t> blocks{0};
    model::StepBatch batch{.tokens = {1, 2, 3}, .slices = {{0, 3, 0, blocks}}, .logit_rows = {2}};
    model->decoder->forward(batch, kv, logits);
    double squares = 0;
    for (const float logit : logits) squares += static_cast<double>(logit) * logit;
    EXPECT_TRUE(std::isfinite(squares)) << type;
    EXPECT_GT(squares, 0) << type;
  }
}

TEST_F(RandomModel, HasAVocabularyThatSpellsAnything) {
  ops::ComputePool pool(1);
  auto model = model::open_model(write("tiny", "Q4_0"), {}, pool);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const std::string text = "Hello, wörld 42\n";
  std::string spelled;
  for (const TokenId id : model->tokenizer->encode(text, text::Specials::as_text))
    spelled += model->tokenizer->bytes(id);
  EXPECT_EQ(spelled, text);
}

TEST(RandomModelTypes, SayWhatDoesNotFit) {
  const auto written = write_random_model("/nowhere/x.gguf", **find_shape("smollm2-135m"),
                                          *parse_weight_types("Q4_K"), 1, [](double) {});
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.error().message.find("576"), std::string::npos);
  EXPECT_FALSE(parse_weight_types("Q4").ok());
  EXPECT_NE(find_shape("gpt-5").error().message.find("qwen2.5-1.5b"), std::string::npos);
}

TEST(Machine, EveryInstructionRuns) {
  for (const Instruction& instruction : instructions()) {
    const double few = instruction.run(10);
    EXPECT_GT(few, 0) << instruction.name;
    EXPECT_DOUBLE_EQ(instruction.run(20), 2 * few) << instruction.name;
  }
}

TEST_F(RandomModel, RunsThroughTheWholeEngine) {
  ops::ComputePool pool(2);
  const std::filesystem::path path = write("tiny", "Q4_0");
  EngineReport report;
  report.load = measure_load(path.string(), ops::KvType::f16).value();
  const EngineBenchOptions options{.prompts = {40}, .batches = {1, 3}, .gen = 4, .depth = 20};
  auto figures =
      bench_engine(model::open_model(path, {}, pool).value(), report.load, options, [](std::string_view) {});
  ASSERT_TRUE(figures.ok()) << figures.error().message;
  report.figures = *figures;
  ASSERT_EQ(figures->prefills.size(), 1u);
  EXPECT_GT(figures->prefills[0].tokens_per_s, 0);
  ASSERT_EQ(figures->decodes.size(), 2u);
  for (const DecodeFigures& d : figures->decodes) {
    EXPECT_GT(d.tokens_per_s, 0);
    EXPECT_GT(d.kernel_s, 0);
    EXPECT_GE(d.sampling_s, 0);
    EXPECT_GT(d.rest_s, 0);
    EXPECT_LE(d.kernel_s, d.worst_step_s);
  }
  EXPECT_EQ(engine_json(report).at("decode").as_array().size(), 2u);
  EXPECT_NE(engine_table(report).find("tokens/s"), std::string::npos);
}

TEST_F(RandomModel, LoadCountsWhatAStepReads) {
  // "tiny" has 2 layers, hidden size 256, inner size 512, 4 heads and 2 KV heads of 64, a vocabulary of 512,
  // and tied embeddings.
  const ModelLoad load = measure_load(write("tiny", "F16").string(), ops::KvType::f16).value();
  const double layer = 256 * 256 + 2 * 128 * 256 + 256 * 256 + 3 * 256 * 512;
  EXPECT_DOUBLE_EQ(load.ops_per_token, 2 * 2 * layer);
  EXPECT_DOUBLE_EQ(load.head_ops, 2 * 512 * 256);
  const double norms = (2 * 2 + 1) * 256 * 4;
  EXPECT_DOUBLE_EQ(load.bytes_of_step(1), 2 * (2 * layer + 512 * 256) + norms);
  EXPECT_DOUBLE_EQ(load.kv_bytes_per_token, 2 * 2 * 128 * 2);
}

TEST_F(RandomModel, TooLongForTheContextIsAnError) {
  ops::ComputePool pool(1);
  const std::filesystem::path path = write("tiny", "Q4_0");
  const ModelLoad load = measure_load(path.string(), ops::KvType::f16).value();
  const auto figures = bench_engine(model::open_model(path, {}, pool).value(), load, {.prompts = {4096}},
                                    [](std::string_view) {});
  ASSERT_FALSE(figures.ok());
  EXPECT_NE(figures.error().message.find("2048"), std::string::npos);
}

}  // namespace
}  // namespace kvasir::bench

#include "model/quantize/quantize_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "model/decoder/decoder.h"
#include "model/decoder/sequence_runner.h"
#include "model/file/gguf_file.h"
#include "model/golden_gguf.h"
#include "model/golden_models_test.h"

namespace kvasir::model {
namespace {

using tensor::DType;

void ignore_progress(const QuantizeProgress&) {}

std::vector<float> logits_of(const std::filesystem::path& path) {
  ops::ComputePool pool(2);
  auto checkpoint = open_checkpoint(path);
  CHECK(checkpoint.ok(), "{}", checkpoint.error().message);
  auto decoder = Decoder::load(std::move(*checkpoint), {.precision = ops::Precision::exact}, pool);
  CHECK(decoder.ok(), "{}", decoder.error().message);
  auto runner = SequenceRunner::create(**decoder, ops::KvType::f32, 64);
  CHECK(runner.ok(), "{}", runner.error().message);
  std::vector<TokenId> tokens(20);
  std::iota(tokens.begin(), tokens.end(), 5);
  const std::span<const float> logits = runner->feed(tokens, 20);
  return {logits.begin(), logits.end()};
}

// Returns the root mean square of the difference, divided by that of the expected numbers.
double noise(const std::vector<float>& got, const std::vector<float>& expected) {
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    error += std::pow(double{got[i]} - expected[i], 2);
    size += std::pow(double{expected[i]}, 2);
  }
  return std::sqrt(error / size);
}

TEST(QuantizeFile, ASmallerModelSaysNearlyTheSame) {
  const TemporaryDirectory directory;
  const auto in = directory.write("in.gguf", GoldenGguf(kModels / "qwen2").build().build());
  const std::vector<float> expected = logits_of(in);
  ops::ComputePool pool(2);
  struct Case {
    DType type;
    double noise;
  };
  // The golden model's rows of 64 numbers are not whole blocks of Q4_K, so it gets 8 bits.
  for (const Case& c : {Case{DType::q8_0, 0.02}, Case{DType::q4_0, 0.35}, Case{DType::q4_k, 0.02}}) {
    const auto out = directory.path() / "out.gguf";
    QuantizeProgress last;
    const auto status = quantize_file(in, out, c.type, pool, [&](const QuantizeProgress& p) { last = p; });
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(last.read_bytes, last.total_bytes);
    EXPECT_LT(last.written_bytes, last.total_bytes);
    EXPECT_LT(noise(logits_of(out), expected), c.noise) << tensor::info(c.type).name;
    EXPECT_FALSE(std::filesystem::exists(out.string() + ".part"));
  }
}

TEST(QuantizeFile, WhatIsQuantisedAlreadyCanBeMadeSmaller) {
  const TemporaryDirectory directory;
  const auto in = directory.write(
      "in.gguf", GoldenGguf(kModels / "qwen2", LatentTensors::apart, MatrixType::q8_0).build().build());
  const auto out = directory.path() / "out.gguf";
  ops::ComputePool pool(2);
  const auto status = quantize_file(in, out, DType::q4_0, pool, ignore_progress);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_LT(noise(logits_of(out), logits_of(in)), 0.35);
}

TEST(QuantizeFile, KeepsKeysAndWhatIsNoMatrix) {
  const TemporaryDirectory directory;
  const auto in = directory.write("in.gguf", GoldenGguf(kModels / "mixtral").build().build());
  const auto out = directory.path() / "out.gguf";
  ops::ComputePool pool(2);
  ASSERT_TRUE(quantize_file(in, out, DType::q4_0, pool, ignore_progress).ok());
  const auto before = GgufFile::open(in);
  const auto after = GgufFile::open(out);
  ASSERT_TRUE(before.ok() && after.ok());
  for (const GgufKey& key : (*before)->keys())
    EXPECT_TRUE((*after)->metadata().contains(key.name)) << key.name;
  EXPECT_EQ((*after)->metadata().integer("general.file_type"), 2);
  EXPECT_EQ((*after)->names(), (*before)->names());
  const auto type = [&](std::string_view name) { return (*after)->find(name)->type; };
  EXPECT_EQ(type("blk.0.attn_q.weight"), DType::q4_0);
  EXPECT_EQ(type("blk.0.ffn_gate_exps.weight"), DType::q4_0);
  EXPECT_EQ(type("blk.0.attn_norm.weight"), DType::f32);
  EXPECT_EQ(type("blk.0.ffn_gate_inp.weight"), (*before)->find("blk.0.ffn_gate_inp.weight")->type);
  EXPECT_EQ(type("token_embd.weight"), DType::q8_0);
}

// Covers every family that has a name in GGUF. The written file has the facts of the directory.
TEST(QuantizeFile, ADirectoryBecomesAGguf) {
  const TemporaryDirectory directory;
  ops::ComputePool pool(2);
  for (const char* name :
       {"llama", "llama_bias_heads", "llama_tied", "llama3_rope", "llama_yarn", "mistral_swa", "qwen2",
        "qwen3", "gemma2", "gemma3", "phi3", "smollm3", "olmo2", "granite", "gpt2", "mixtral", "qwen3_moe"}) {
    SCOPED_TRACE(name);
    const auto out = directory.path() / "out.gguf";
    QuantizeProgress last;
    const auto status =
        quantize_file(kModels / name, out, DType::q8_0, pool, [&](const QuantizeProgress& p) { last = p; });
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(last.read_bytes, last.total_bytes);
    // The numbers are those of the spelled-out conversion, and so the logits are the same.
    const auto expected = directory.write("expected.gguf", GoldenGguf(kModels / name).build().build());
    const auto small = directory.path() / "small.gguf";
    ASSERT_TRUE(quantize_file(expected, small, DType::q8_0, pool, ignore_progress).ok());
    EXPECT_LT(noise(logits_of(out), logits_of(small)), 1e-5);
    EXPECT_LT(noise(logits_of(out), logits_of(kModels / name)), 0.06);
    const auto made = GgufFile::open(out);
    const auto wanted = GgufFile::open(expected);
    ASSERT_TRUE(made.ok() && wanted.ok());
    EXPECT_EQ((*made)->names(), (*wanted)->names());
    for (const std::string_view tensor : (*wanted)->names()) {
      const auto view = (*made)->find(tensor);
      ASSERT_TRUE(view.ok()) << tensor;
      EXPECT_EQ(view->shape, (*wanted)->find(tensor)->shape) << tensor;
    }
    EXPECT_EQ((*made)->metadata().string("general.architecture"),
              (*wanted)->metadata().string("general.architecture"));
  }
}

TEST(QuantizeFile, FailsWithoutLeavingAnything) {
  const TemporaryDirectory directory;
  std::string bytes = GoldenGguf(kModels / "llama").build().build();
  const auto out = directory.path() / "out.gguf";
  ops::ComputePool pool(1);
  const auto whole = directory.write("whole.gguf", bytes);
  bytes.resize(bytes.size() - 1000);
  const auto cut = directory.write("cut.gguf", bytes);
  const auto quantize = [&](const std::filesystem::path& from, const std::filesystem::path& to) {
    const auto status = quantize_file(from, to, DType::q8_0, pool, ignore_progress);
    return status.ok() ? std::string("none") : status.error().message;
  };
  EXPECT_NE(quantize(cut, out).find("cut off"), std::string::npos);
  EXPECT_NE(quantize(whole, whole).find("over itself"), std::string::npos);
  EXPECT_NE(quantize(directory.path(), out).find("config.json"), std::string::npos);
  EXPECT_NE(quantize(kModels / "deepseek_v3", out).find("latent"), std::string::npos);
  EXPECT_NE(quantize(whole, directory.path() / "none" / "out.gguf").find("cannot write"), std::string::npos);
  EXPECT_NE(quantize(directory.path() / "none.gguf", out), "none");
  int num_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
    num_files += entry.exists() ? 1 : 0;
  EXPECT_EQ(num_files, 2);
}

}  // namespace
}  // namespace kvasir::model

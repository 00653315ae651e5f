#include "model/checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/arch/architecture.h"
#include "model/file/weight_file_builder.h"

namespace kvasir::model {
namespace {

using base::ErrorCode;

base::json::object parse(std::string_view text) {
  return base::parse_json(text).value().get_object();
}

constexpr std::string_view kClassic = R"({"model_type":"llama","vocab_size":100,"hidden_size":64,
  "intermediate_size":128,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,
  "max_position_embeddings":4096,"rms_norm_eps":1e-6,"rope_theta":500000,
  "rope_scaling":{"type":"linear","factor":4},"head_dim":null})";

base::Result<ModelConfig> from_json(std::string_view key, base::json::value value) {
  base::json::object config = parse(kClassic);
  config[key] = std::move(value);
  auto model = kLlama.hugging_face.read(config);
  if (!model.ok()) return model;
  if (auto status = validate(*model); !status.ok()) return std::move(status).error();
  return model;
}

TEST(ModelConfig, ReadsTheClassicSpelling) {
  const auto config = kLlama.hugging_face.read(parse(kClassic));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->head_dim, 16);
  EXPECT_EQ(config->rope.theta, 500000);
  EXPECT_EQ(config->rope.scaling, RopeScaling::linear);
  EXPECT_EQ(config->rope.factor, 4);
  EXPECT_EQ(config->rope.dim, 16);
  EXPECT_FALSE(config->tied_embeddings);
  EXPECT_EQ(frequencies(config->rope).inverse_frequencies.at(0), 0.25f);
}

TEST(ModelConfig, RefusesWhatItCannotBe) {
  EXPECT_TRUE(from_json("vocab_size", 100).ok());
  EXPECT_EQ(from_json("vocab_size", 0).error().code, ErrorCode::corrupt);
  EXPECT_EQ(from_json("vocab_size", 1e300).error().code, ErrorCode::corrupt);
  EXPECT_EQ(from_json("vocab_size", "many").error().code, ErrorCode::corrupt);
  EXPECT_EQ(from_json("vocab_size", std::int64_t{1} << 40).error().code, ErrorCode::corrupt);
  EXPECT_EQ(from_json("num_attention_heads", 0).error().code, ErrorCode::corrupt);
  EXPECT_EQ(from_json("num_key_value_heads", 3).error().code, ErrorCode::corrupt);
  EXPECT_EQ(from_json("num_key_value_heads", -2).error().code, ErrorCode::corrupt);
  EXPECT_EQ(from_json("head_dim", 7).error().code, ErrorCode::corrupt);
  EXPECT_EQ(from_json("rope_theta", -1).error().code, ErrorCode::corrupt);
  EXPECT_EQ(from_json("hidden_act", "relu6").error().code, ErrorCode::unsupported);
  EXPECT_EQ(from_json("rope_scaling", parse(R"({"rope_type":"dynamic"})")).error().code,
            ErrorCode::unsupported);
  EXPECT_EQ(from_json("rope_scaling", parse(R"({"rope_type":"yarn","factor":0})")).error().code,
            ErrorCode::corrupt);
}

TEST(RopeConfig, YarnScalesTheAttention) {
  RopeConfig rope;
  rope.dim = 64;
  rope.scaling = RopeScaling::yarn;
  rope.factor = 4;
  rope.original_context = 4096;
  const RopeFrequencies table = frequencies(rope);
  EXPECT_FLOAT_EQ(table.attention_factor, static_cast<float>(0.1 * std::log(4.0) + 1));
  EXPECT_FLOAT_EQ(table.inverse_frequencies.front(), 1.0f);  // the fastest pair stays
  EXPECT_FLOAT_EQ(table.inverse_frequencies.back(),          // the slowest is interpolated
                  static_cast<float>(std::pow(10000.0, -62.0 / 64) / 4));
  rope.attention_factor = 1.5;
  EXPECT_FLOAT_EQ(frequencies(rope).attention_factor, 1.5f);
}

TEST(RopeConfig, DivisorsComeOnTop) {
  RopeConfig rope;
  rope.dim = 4;
  rope.freq_divisors = {1.0f, 8.0f};
  ASSERT_TRUE(validate(rope).ok());
  EXPECT_FLOAT_EQ(frequencies(rope).inverse_frequencies[1], 0.01f / 8);
  rope.freq_divisors = {1.0f};
  EXPECT_FALSE(validate(rope).ok());
  rope.freq_divisors = {1.0f, 0.0f};
  EXPECT_FALSE(validate(rope).ok());
}

TEST(Checkpoint, NamesTheFamilyThatItDoesNotKnow) {
  const TemporaryDirectory directory;
  const auto opened =
      open_checkpoint(directory.write("x.gguf", GgufBuilder().key("general.architecture", "mamba").build()));
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::unsupported);
  EXPECT_NE(opened.error().message.find("\"mamba\""), std::string::npos);
  EXPECT_NE(opened.error().message.find("llama, qwen2"), std::string::npos);
}

TEST(Checkpoint, ReadsGgufKeys) {
  GgufBuilder builder;
  builder.key("general.architecture", "qwen2")
      .key("qwen2.block_count", std::uint32_t{2})
      .key("qwen2.context_length", std::uint32_t{512})
      .key("qwen2.embedding_length", std::uint32_t{8})
      .key("qwen2.feed_forward_length", std::uint32_t{16})
      .key("qwen2.attention.head_count", std::uint32_t{2})
      .key("qwen2.attention.head_count_kv", std::uint32_t{1})
      .key("qwen2.rope.freq_base", 1e6f)
      .tensor("token_embd.weight", {8, 5}, 0, std::string(160, '\0'))
      .tensor("blk.0.attn_q.bias", {8}, 0, std::string(32, '\0'))
      .tensor("rope_freqs.weight", {2}, 0, float_bytes({1, 2}));
  const TemporaryDirectory directory;
  const auto opened = open_checkpoint(directory.write("x.gguf", builder.build()));
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->config.vocab_size, 5);
  EXPECT_EQ(opened->config.head_dim, 4);
  EXPECT_EQ(opened->config.rope.theta, 1e6);
  EXPECT_EQ(opened->config.rope.style, ops::RopeStyle::neox);
  EXPECT_EQ(opened->config.rope.freq_divisors, (std::vector<float>{1, 2}));
  EXPECT_TRUE(opened->config.qkv_bias);
  EXPECT_TRUE(opened->config.tied_embeddings);
}

}  // namespace
}  // namespace kvasir::model

#include <gtest/gtest.h>

#include "model/decoder/decoder.h"
#include "model/decoder/sequence_runner.h"
#include "model/file/text_file.h"
#include "model/file/weight_file_builder.h"
#include "model/golden_models_test.h"

namespace kvasir::model {
namespace {

// Loads the model and runs a step. Returns the error, or an empty string if both succeed.
std::string error_of(const std::filesystem::path& path, ops::ComputePool& pool) {
  auto checkpoint = open_checkpoint(path);
  if (!checkpoint.ok()) return checkpoint.error().message;
  const auto decoder = Decoder::load(std::move(*checkpoint), {}, pool);
  if (!decoder.ok()) return decoder.error().message;
  auto runner = SequenceRunner::create(**decoder, ops::KvType::f16, 16);
  if (!runner.ok()) return runner.error().message;
  const std::vector<TokenId> tokens = {1, 0, 2};
  runner->feed(tokens, 1);
  return {};
}

class HostileConfig : public testing::TestWithParam<const char*> {
 protected:
  HostileConfig() {
    std::filesystem::create_symlink(golden() / "model.safetensors", directory_.path() / "model.safetensors");
    config_ = read_json_file(golden() / "config.json").value();
  }
  static std::filesystem::path golden() { return kModels / GetParam(); }

  std::string error_with(std::string_view field, const base::json::value* value) {
    base::json::object config = config_;
    if (value) {
      config[field] = *value;
    } else {
      config.erase(field);
    }
    directory_.write("config.json", base::json::serialize(config));
    return error_of(directory_.path(), pool_);
  }

  ops::ComputePool pool_{1};
  TemporaryDirectory directory_;
  base::json::object config_;
};

// Whatever value a field has, the model runs or loading fails; nothing crashes.
TEST_P(HostileConfig, NoFieldCanHarm) {
  const base::json::value values[] = {0,     -1,   3,   1 << 30, std::int64_t{1} << 40,
                                      1e308, -0.5, "x", nullptr, {}};
  int num_errors = 0;
  for (const auto& field : config_) {
    const std::string name(field.key());
    if (!error_with(name, nullptr).empty()) ++num_errors;
    for (const base::json::value& value : values) {
      if (!error_with(name, &value).empty()) ++num_errors;
    }
    const base::json::value lists[] = {base::json::array{1, "x"}, base::json::object{{"rope_theta", "x"}}};
    for (const base::json::value& value : lists) {
      if (!error_with(name, &value).empty()) ++num_errors;
    }
  }
  EXPECT_GT(num_errors, 50);
}

INSTANTIATE_TEST_SUITE_P(All, HostileConfig,
                         testing::Values("llama_yarn", "mistral_swa", "mixtral", "qwen2", "qwen3",
                                         "qwen3_moe", "gemma2", "gemma3", "phi3", "smollm3", "olmo2",
                                         "granite", "gpt2", "deepseek_v3"));

struct Case {
  const char* model;
  const char* field;
  base::json::value value;
  const char* message;
};

TEST(HostileConfig, TheErrorNamesFileAndField) {
  const Case cases[] = {
      {"mixtral", "num_local_experts", 0, "config.json: number of experts 0"},
      {"mixtral", "num_experts_per_tok", 5, "config.json: number of experts of a token 5"},
      {"mixtral", "num_local_experts", 5, "block_sparse_moe.gate.weight\" has shape [4, 64]"},
      {"qwen3_moe", "decoder_sparse_step", 0, "config.json: decoder_sparse_step is 0"},
      {"qwen3_moe", "num_local_experts", 1 << 20, "config.json: number of experts 1048576"},
      {"deepseek_v3", "n_group", 3, "config.json: 8 experts are no multiple of 3 groups"},
      {"deepseek_v3", "num_experts_per_tok", 5, "config.json: 5 experts of a token are more"},
      {"deepseek_v3", "kv_lora_rank", 0, "config.json: kv_lora_rank 0"},
      {"deepseek_v3", "qk_rope_head_dim", 7, "config.json: rope: the rotated dimension"},
      {"deepseek_v3", "kv_lora_rank", 31, "kv_a_proj_with_mqa.weight\" has shape [40, 64]"},
      {"deepseek_v3", "scoring_func", "softplus", "config.json: scoring_func \"softplus\""},
      {"gemma3", "sliding_window", -1, "config.json: a sliding window of -1"},
      {"gemma3", "layer_types", base::json::array{"full_attention"},
       "config.json: layer_types is no list of 6"},
      {"gemma2", "query_pre_attn_scalar", 0, "config.json: the attention's scale is inf"},
      {"granite", "logits_scaling", 0, "config.json: the logits' scale is inf"},
      {"gpt2", "n_head", 0, "config.json: n_head is 0"},
      {"gpt2", "n_inner", 100, "h.0.mlp.c_fc.weight\" has shape [64, 256]"},
      {"smollm3", "no_rope_layers", base::json::array{1}, "config.json: no_rope_layers has 1 of 4 layers"},
      {"phi3", "num_key_value_heads", 4, "qkv_proj.weight\" has shape [96, 64]"},
      {"llama", "num_hidden_layers", 5, "model.layers.4.input_layernorm.weight"},
      {"llama", "num_hidden_layers", 1 << 30, "config.json: number of layers 1073741824"},
      {"llama", "vocab_size", nullptr, "config.json: no vocab_size"},
  };
  ops::ComputePool pool(1);
  for (const Case& c : cases) {
    const TemporaryDirectory directory;
    std::filesystem::copy(kModels / c.model / "model.safetensors", directory.path() / "model.safetensors");
    base::json::object config = read_json_file(kModels / c.model / "config.json").value();
    config[c.field] = c.value;
    directory.write("config.json", base::json::serialize(config));
    const std::string error = error_of(directory.path(), pool);
    EXPECT_NE(error.find(c.message), std::string::npos) << c.model << " " << c.field << ": " << error;
  }
}

}  // namespace
}  // namespace kvasir::model

#include "bench/model_shape.h"

#include <algorithm>
#include <cctype>

namespace kvasir::bench {

namespace {

struct Row {
  std::string_view name;
  std::string_view architecture;
  int vocab_size, hidden_size, intermediate_size, num_layers, num_heads, num_kv_heads, head_dim,
      context_length;
  double theta;
  bool tied;
};

// The shapes are from the models' own configurations. "tiny" is for experiments.
constexpr Row kRows[] = {
    {"tiny", "llama", 512, 256, 512, 2, 4, 2, 64, 2048, 10000, true},
    {"smollm2-135m", "llama", 49152, 576, 1536, 30, 9, 3, 64, 8192, 100000, true},
    {"smollm2-360m", "llama", 49152, 960, 2560, 32, 15, 5, 64, 8192, 100000, true},
    {"qwen2.5-0.5b", "qwen2", 151936, 896, 4864, 24, 14, 2, 64, 32768, 1e6, true},
    {"tinyllama-1.1b", "llama", 32000, 2048, 5632, 22, 32, 4, 64, 2048, 10000, false},
    {"llama-3.2-1b", "llama", 128256, 2048, 8192, 16, 32, 8, 64, 131072, 500000, true},
    {"qwen2.5-1.5b", "qwen2", 151936, 1536, 8960, 28, 12, 2, 128, 32768, 1e6, true},
    {"qwen2.5-3b", "qwen2", 151936, 2048, 11008, 36, 16, 2, 128, 32768, 1e6, true},
    {"llama-3.2-3b", "llama", 128256, 3072, 8192, 28, 24, 8, 128, 131072, 500000, true},
    {"mistral-7b", "llama", 32768, 4096, 14336, 32, 32, 8, 128, 32768, 1e6, false},
    {"qwen2.5-7b", "qwen2", 152064, 3584, 18944, 28, 28, 4, 128, 32768, 1e6, false},
    {"llama-3.1-8b", "llama", 128256, 4096, 14336, 32, 32, 8, 128, 131072, 500000, false},
};

model::ModelConfig config_of(const Row& row) {
  model::ModelConfig config;
  config.architecture = row.architecture;
  config.vocab_size = row.vocab_size;
  config.hidden_size = row.hidden_size;
  config.intermediate_size = row.intermediate_size;
  config.num_layers = row.num_layers;
  config.num_heads = row.num_heads;
  config.num_kv_heads = row.num_kv_heads;
  config.head_dim = row.head_dim;
  config.context_length = row.context_length;
  config.norm_eps = 1e-6f;
  config.rope.theta = row.theta;
  config.rope.dim = row.head_dim;
  config.qkv_bias = row.architecture == "qwen2";
  config.tied_embeddings = row.tied;
  return config;
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

}  // namespace

const std::vector<ModelShape>& model_shapes() {
  static const std::vector<ModelShape> shapes = [] {
    std::vector<ModelShape> list;
    for (const Row& row : kRows) list.push_back({row.name, config_of(row)});
    return list;
  }();
  return shapes;
}

base::Result<const ModelShape*> find_shape(std::string_view name) {
  std::string names;
  for (const ModelShape& shape : model_shapes()) {
    if (shape.name == name) return &shape;
    names += (names.empty() ? "" : ", ") + std::string(shape.name);
  }
  return base::error(base::ErrorCode::invalid_argument, "no shape '{}'; there are {}", name, names);
}

base::Result<WeightTypes> parse_weight_types(std::string_view name) {
  const std::string wanted = upper(name);
  if (wanted == "Q4_K_M") return WeightTypes{tensor::DType::q4_k, true, wanted};
  std::string names = "Q4_K_M";
  for (int i = 0; i < tensor::kNumDTypes; ++i) {
    const auto type = static_cast<tensor::DType>(i);
    const std::string_view known = tensor::info(type).name;
    if (known == wanted) return WeightTypes{type, false, wanted};
    names += ", " + std::string(known);
  }
  return base::error(base::ErrorCode::invalid_argument, "no type '{}'; there are {}", name, names);
}

}  // namespace kvasir::bench

#pragma once

#include <cmath>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "model/decoder/device_decoder.h"

// Makes decoders with random weights for tests.
namespace kvasir::model {

inline ModelConfig dense_config(int head_dim) {
  ModelConfig config;
  config.architecture = "llama";
  config.vocab_size = 1000;
  config.hidden_size = 512;
  config.intermediate_size = 1024;
  config.num_layers = 3;
  config.num_heads = 8;
  config.num_kv_heads = 2;
  config.head_dim = head_dim;
  config.context_length = 4096;
  config.rope.dim = head_dim;
  config.layers.resize(3);
  return config;
}

inline std::unique_ptr<DeviceDecoder> random_decoder(const ModelConfig& config, DeviceOptions options) {
  options.num_blocks = 256;
  options.max_rows = 600;
  options.max_sequences = 40;
  auto decoder = make_random_cuda_decoder(config, options);
  CHECK(decoder.ok(), "{}", decoder.error().message);
  return std::move(*decoder);
}

inline std::unique_ptr<DeviceDecoder> random_decoder(const ModelConfig& config, tensor::DType type) {
  return random_decoder(config, DeviceOptions{.type = type});
}

inline std::vector<TokenId> random_tokens(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<TokenId> tokens(static_cast<std::size_t>(count));
  for (TokenId& token : tokens) token = static_cast<TokenId>(random() % 1000);
  return tokens;
}

// Returns the norm of the difference, divided by the norm of `wanted`.
inline double relative_error(std::span<const float> got, std::span<const float> wanted) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    difference += std::pow(got[i] - wanted[i], 2);
    size += std::pow(wanted[i], 2);
  }
  return std::sqrt(difference / size);
}

}  // namespace kvasir::model

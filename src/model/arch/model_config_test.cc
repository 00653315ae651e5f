#include "model/arch/model_config.h"

#include <gtest/gtest.h>

namespace kvasir::model {
namespace {

// The shape of SmolLM2 135M.
ModelConfig small() {
  ModelConfig config;
  config.vocab_size = 49152;
  config.hidden_size = 576;
  config.intermediate_size = 1536;
  config.num_layers = 30;
  config.num_heads = 9;
  config.num_kv_heads = 3;
  config.head_dim = 64;
  config.tied_embeddings = true;
  config.layers.resize(30);
  return config;
}

TEST(NumParameters, OfADenseModelAreItsMatrices) {
  EXPECT_EQ(num_parameters(small()), 134'479'872);
  ModelConfig apart = small();
  apart.tied_embeddings = false;
  EXPECT_EQ(num_parameters(apart), 134'479'872 + 49152 * 576);
}

TEST(NumParameters, OfAMixtureIncludeEveryExpert) {
  ModelConfig config = small();
  config.mixture = {.num_experts = 8, .num_used = 2, .intermediate_size = 1536};
  for (LayerConfig& layer : config.layers) layer.sparse = true;
  EXPECT_EQ(num_parameters(config), 134'479'872 + 30LL * (7 * 3 * 576 * 1536 + 576 * 8));
}

}  // namespace
}  // namespace kvasir::model

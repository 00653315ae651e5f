#include "engine/step_footprint.h"

#include <gtest/gtest.h>

namespace kvasir::engine {
namespace {

model::ModelConfig small_config() {
  model::ModelConfig config;
  config.vocab_size = 100;
  config.hidden_size = 8;
  config.intermediate_size = 16;
  config.num_layers = 2;
  config.num_heads = config.num_kv_heads = 2;
  config.head_dim = 4;
  config.tied_embeddings = true;
  config.layers.assign(2, {});
  return config;
}

// One sequence that decodes after 10 tokens, and one prompt of 4.
sched::StepPlan two_slices(const std::vector<TokenId>& known) {
  sched::StepPlan plan;
  for (const auto& [computed, rows] : {std::pair(10, 1), std::pair(0, 4)}) {
    sched::StepPlan::Slice slice;
    slice.known = std::span(known).first(static_cast<std::size_t>(computed + rows));
    slice.num_computed = computed;
    slice.num_rows = rows;
    plan.slices.push_back(slice);
    plan.load.add(computed, rows);
  }
  return plan;
}

TEST(StepFootprintTest, CountsWhatAStepReadsAndComputes) {
  // A layer: 4 * 8 * 8 of attention and 3 * 8 * 16 of feed-forward.
  const double layers = 2 * (256 + 384);
  const double head = 800;
  const StepFootprint footprint = footprint_of(small_config(), 5000, 64);
  EXPECT_EQ(footprint.weight_bytes, 5000);
  EXPECT_EQ(footprint.row_flops, 2 * layers);
  EXPECT_EQ(footprint.head_flops, 2 * head);
  EXPECT_EQ(footprint.kv_pair_flops, 2.0 * 2 * 4 * 2 * 2);

  const std::vector<TokenId> known(16);
  const StepWork work = work_of(footprint, two_slices(known));
  // KV: 10 tokens are read, 5 are written and read.
  EXPECT_EQ(work.bytes, 5000 + 64.0 * (10 + 2 * 5));
  // Pairs: the one row sees 11 tokens, the others 1 + 2 + 3 + 4.
  EXPECT_EQ(work.flops, 5 * 2 * layers + 2 * 2 * head + 64.0 * (11 + 10));
}

TEST(StepFootprintTest, AStepReadsTheExpertsThatItsRowsPick) {
  model::ModelConfig config = small_config();
  for (model::LayerConfig& layer : config.layers) layer.sparse = true;
  config.mixture.num_experts = 8;
  config.mixture.num_used = 2;
  config.mixture.intermediate_size = 16;
  const StepFootprint footprint = footprint_of(config, 1000, 0);
  EXPECT_NEAR(footprint.weight_bytes + footprint.expert_bytes, 1000, 1e-9);
  const double experts = 2 * 8 * 384;
  EXPECT_NEAR(footprint.expert_bytes, 1000 * experts / (experts + 2 * (256 + 8 * 8) + 800), 1e-9);
  const std::vector<TokenId> known(16);
  const sched::StepPlan plan = two_slices(known);
  const double bytes = work_of(footprint, plan).bytes;
  EXPECT_GT(bytes, footprint.weight_bytes + footprint.expert_bytes * 0.25);
  EXPECT_LT(bytes, 1000);
}

}  // namespace
}  // namespace kvasir::engine

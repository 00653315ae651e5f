#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/machine.h"
#include "bench/statistics.h"
#include "model/loaded_model.h"
#include "tensor/dtype.h"

namespace kvasir::bench {

struct EngineBenchOptions {
  std::vector<int> prompts = {128, 512};  // lengths of the measured prefills, in tokens
  std::vector<int> batches = {1, 4, 16, 32};
  int gen = 32;     // measured decode steps of each batch
  int depth = 128;  // tokens of context before these steps
  int max_batch_tokens = 512;
  float temperature = 0;
  ops::KvType kv_type = ops::KvType::f16;
  std::uint64_t seed = 0;
};

// The bytes and operations that a model's steps need.
struct ModelLoad {
  std::string name;
  double weight_bytes = 0;        // read by every step: all but experts and an embedding that is not the head
  double expert_bytes = 0;        // all experts together
  double expert_share = 0;        // the part of the experts that one token uses
  double ops_per_token = 0;       // for products with weights, without the head
  double head_ops = 0;            // for one row of logits
  double kv_bytes_per_token = 0;  // of one sequence's context
  double attention_ops_per_token = 0;  // for one row, for each token of its context

  // Returns the bytes that a step of `num_rows` rows reads, if experts are chosen at random.
  double bytes_of_step(int num_rows) const;
};

// The speed of one prompt in the engine, from its submission to its first token.
struct PrefillFigures {
  int num_tokens = 0;
  double seconds = 0;
  double tokens_per_s = 0;
  double ops_per_s = 0;
};

// Steps in which `batch` sequences decode one token each. Times are medians over the steps.
struct DecodeFigures {
  int batch = 0;
  int depth = 0;
  double tokens_per_s = 0;  // over all steps together
  double step_s = 0;
  double kernel_s = 0;    // time inside the decoder
  double sampling_s = 0;  // time for building the batch and drawing the tokens
  double rest_s = 0;      // time for the plan, its commit, and passing tokens to readers
  double worst_step_s = 0;
  double bytes_per_s = 0;
  double ops_per_s = 0;
};

struct EngineFigures {
  std::vector<PrefillFigures> prefills;
  std::vector<DecodeFigures> decodes;
};

// Measures the whole engine (scheduler, runner, sampler, and streams with a reader thread) on a loaded model,
// with the model's own pool.
base::Result<EngineFigures> bench_engine(model::LoadedModel model, const ModelLoad& load,
                                         const EngineBenchOptions& options,
                                         const std::function<void(std::string_view)>& on_progress);

// Computes the load from the checkpoint's tensors.
base::Result<ModelLoad> measure_load(const std::string& path, ops::KvType kv_type);

}  // namespace kvasir::bench

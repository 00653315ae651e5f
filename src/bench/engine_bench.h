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
  std::vector<int> prompts = {128, 512};  // tokens of each prefill that is measured
  std::vector<int> batches = {1, 4, 16, 32};
  int gen = 32;     // decode steps of each batch that are measured
  int depth = 128;  // tokens before them
  int max_batch_tokens = 512;
  float temperature = 0;
  ops::KvType kv_type = ops::KvType::f16;
  std::uint64_t seed = 0;
};

// What a model asks of the machine.
struct ModelLoad {
  std::string name;
  double weight_bytes = 0;             // read once a step: all but experts, and an embedding that is no head
  double expert_bytes = 0;             // of all experts together
  double expert_share = 0;             // of them that one token uses
  double ops_per_token = 0;            // of the products with weights, without the head
  double head_ops = 0;                 // for one row of logits
  double kv_bytes_per_token = 0;       // of one sequence's context
  double attention_ops_per_token = 0;  // for one row and one token of its context

  // Read by a step of so many rows; which experts they use is taken to be chance.
  double bytes_of_step(int num_rows) const;
};

// One prompt through the engine, from the submission to its first token.
struct PrefillFigures {
  int num_tokens = 0;
  double seconds = 0;
  double tokens_per_s = 0;
  double ops_per_s = 0;
};

// Steps of `batch` sequences that each decode one token. Medians over the steps.
struct DecodeFigures {
  int batch = 0;
  int depth = 0;
  double tokens_per_s = 0;  // over all steps together
  double step_s = 0;
  double kernel_s = 0;    // inside the decoder
  double sampling_s = 0;  // building the batch and drawing the tokens
  double rest_s = 0;      // plan, commit, and handing tokens to their readers
  double worst_step_s = 0;
  double bytes_per_s = 0;
  double ops_per_s = 0;
};

struct EngineFigures {
  std::vector<PrefillFigures> prefills;
  std::vector<DecodeFigures> decodes;
};

// Runs the whole engine (scheduler, runner, sampler, streams with their reader on a thread of its own) on a
// loaded model. The pool is the model's.
base::Result<EngineFigures> bench_engine(model::LoadedModel model, const ModelLoad& load,
                                         const EngineBenchOptions& options,
                                         const std::function<void(std::string_view)>& on_progress);

// From the checkpoint's tensors.
base::Result<ModelLoad> measure_load(const std::string& path, ops::KvType kv_type);

}  // namespace kvasir::bench

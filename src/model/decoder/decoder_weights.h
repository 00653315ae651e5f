#pragma once

#include <stop_token>
#include <vector>

#include "base/result.h"
#include "model/checkpoint/checkpoint.h"
#include "model/checkpoint/weight_reader.h"
#include "ops/weight.h"
#include "tensor/buffer.h"
#include "tensor/tensor_view.h"

namespace kvasir::model {

// The weights of multi-head latent attention. The projections from a latent to keys (k_up) and values (v_up)
// are kept as floats, head by head. They are never applied to a latent: k_up is applied to the query, v_up to
// the output.
struct LatentWeights {
  Linear q_down;  // if the config has a q_rank
  Norm q_down_norm;
  Linear kv_down;
  Norm kv_down_norm;
  tensor::TensorView k_up;  // [heads, kv_rank, nope]
  tensor::TensorView v_up;  // [heads, value, kv_rank]
};

struct AttentionWeights {
  Norm norm;
  Norm post_norm;
  Linear q;
  Linear k;  // k and v are unused in latent attention
  Linear v;
  Norm q_norm;
  Norm k_norm;
  LatentWeights latent;
  Linear out;
};

struct MlpWeights {
  Linear gate;  // if the config has a gate
  Linear up;
  Linear down;
};

struct FeedForwardWeights {
  Norm norm;
  Norm post_norm;
  MlpWeights mlp;  // in a sparse layer: the shared expert, if there is one
  Linear router;   // this and the rest: sparse layers only
  std::vector<float> selection_bias;
  std::vector<MlpWeights> experts;
};

struct LayerWeights {
  AttentionWeights attention;
  FeedForwardWeights feed_forward;
};

struct DecoderWeights {
  tensor::TensorView embedding;  // [vocab, hidden], in the checkpoint's memory
  tensor::TensorView positions;  // [context, hidden], in the same memory; if the config has them
  std::vector<LayerWeights> layers;
  Norm output_norm;
  ops::Weight output;  // [vocab, hidden]
  std::vector<tensor::Buffer> copies;
};

// Finds every part that the config asks for and checks its shape. The result may point into the checkpoint.
base::Result<DecoderWeights> load_weights(const Checkpoint& checkpoint, ops::Precision precision,
                                          ops::ComputePool& pool, const std::stop_token& stop = {});

}  // namespace kvasir::model

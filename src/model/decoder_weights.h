#pragma once

#include <vector>

#include "base/result.h"
#include "model/checkpoint.h"
#include "ops/weight.h"
#include "tensor/tensor_view.h"

namespace kvasir::model {

struct Linear {
  ops::Weight weight;       // [out, in]
  std::vector<float> bias;  // [out] or empty
};

struct LayerWeights {
  std::vector<float> attention_norm;  // [hidden]
  Linear q;
  Linear k;
  Linear v;
  Linear attention_out;
  std::vector<float> mlp_norm;  // [hidden]
  Linear gate;
  Linear up;
  Linear down;
};

struct DecoderWeights {
  tensor::TensorView embedding;  // [vocab, hidden], in the checkpoint's memory
  std::vector<LayerWeights> layers;
  std::vector<float> output_norm;  // [hidden]
  ops::Weight output;              // [vocab, hidden]
};

// Finds every part that the config asks for and checks its shape. The result may point into the checkpoint.
base::Result<DecoderWeights> load_weights(const Checkpoint& checkpoint, ops::Precision precision,
                                          ops::ComputePool& pool);

}  // namespace kvasir::model

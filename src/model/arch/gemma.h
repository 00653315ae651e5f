#pragma once

#include "model/arch/model_config.h"
#include "model/arch/tensor_names.h"

namespace kvasir::model {

// Sets what Gemma 2 and 3 share: both halves of a layer are normalised before and after; the embedding is
// scaled by the square root of its size, and is also the output matrix.
void shape_gemma(ModelConfig& config);

constexpr TensorNames gemma_hugging_face_names() {
  TensorNames names = kHuggingFaceNames;
  names.attention_post_norm = "model.layers.{0}.post_attention_layernorm.weight";
  names.mlp_norm = "model.layers.{0}.pre_feedforward_layernorm.weight";
  names.mlp_post_norm = "model.layers.{0}.post_feedforward_layernorm.weight";
  names.norm_offset = 1;  // GGUF's weights include this 1 already
  return names;
}

}  // namespace kvasir::model

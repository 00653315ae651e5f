#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "model/file/weight_file.h"
#include "ops/types/activation.h"

namespace kvasir::model {

// How an encoder turns the vectors of a text's tokens into one vector.
enum class Pooling {
  mean,
  first,  // the vector of the first token
};

// The architecture of an encoder of the BERT family, as data. Positions are learned, and each half layer
// computes norm(x + half(x)).
struct EncoderConfig {
  std::string architecture;
  int vocab_size = 0;
  int num_token_types = 0;
  int hidden_size = 0;
  int intermediate_size = 0;
  int num_layers = 0;
  int num_heads = 0;
  int context_length = 0;  // most tokens that it reads of a text
  int num_positions = 0;   // tokens that have a learned position
  float norm_eps = 1e-12f;
  ops::Activation activation = ops::Activation::gelu;
  Pooling pooling = Pooling::mean;

  int head_dim() const { return hidden_size / num_heads; }
};

// The names of an encoder's tensors, written as in TensorNames.
struct EncoderNames {
  std::string_view embedding;
  std::string_view positions;
  std::string_view token_types;
  std::string_view embedding_norm;
  std::string_view q;
  std::string_view k;
  std::string_view v;
  std::string_view attention_out;
  std::string_view attention_norm;
  std::string_view up;
  std::string_view down;
  std::string_view mlp_norm;
  std::string_view optional_prefix;
};

extern const EncoderNames kGgufEncoderNames;
extern const EncoderNames kHuggingFaceEncoderNames;

// Whether the architecture (general.architecture in GGUF, model_type in config.json) is an encoder's.
bool is_encoder(std::string_view architecture);
base::Result<EncoderConfig> read_gguf_encoder(const WeightFile& file);
base::Result<EncoderConfig> read_json_encoder(const base::json::object& config);
base::Status validate(const EncoderConfig& config);

}  // namespace kvasir::model

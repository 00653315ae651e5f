#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "model/file/weight_file.h"
#include "ops/types/activation.h"

namespace kvasir::model {

// How an encoder turns the vectors of its tokens into one.
enum class Pooling {
  mean,
  first,  // the vector of the first token
};

// An encoder of the BERT family as data. Positions are learned, and each half layer gives norm(x + half(x)).
struct EncoderConfig {
  std::string architecture;
  int vocab_size = 0;
  int num_token_types = 0;
  int hidden_size = 0;
  int intermediate_size = 0;
  int num_layers = 0;
  int num_heads = 0;
  int context_length = 0;  // most tokens that it reads
  int num_positions = 0;   // tokens that it has positions for
  float norm_eps = 1e-12f;
  ops::Activation activation = ops::Activation::gelu;
  Pooling pooling = Pooling::mean;

  int head_dim() const { return hidden_size / num_heads; }
};

// Names of the tensors; see TensorNames.
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

// Whether a model of this name (general.architecture, model_type) is an encoder.
bool is_encoder(std::string_view architecture);
base::Result<EncoderConfig> read_gguf_encoder(const WeightFile& file);
base::Result<EncoderConfig> read_json_encoder(const base::json::object& config);
base::Status validate(const EncoderConfig& config);

}  // namespace kvasir::model

#pragma once

#include <string>
#include <string_view>

#include "model/arch/model_config.h"
#include "model/file/weight_file.h"

namespace kvasir::model {

// Reads the metadata of one family, whose name is the prefix of every key. An absent key gives the fallback.
// A value of the wrong kind or out of range is an error that names the key.
class GgufFields {
 public:
  GgufFields(const Metadata& metadata, std::string_view prefix) : metadata_(metadata), prefix_(prefix) {}

  bool contains(std::string_view key) const { return metadata_.contains(full(key)); }
  base::Result<int> integer(std::string_view key) const;
  base::Result<int> integer_or(std::string_view key, int fallback) const;
  base::Result<double> number_or(std::string_view key, double fallback) const;
  base::Result<float> float_or(std::string_view key, float fallback) const;
  base::Result<bool> boolean_or(std::string_view key, bool fallback) const;
  std::string_view string_or(std::string_view key, std::string_view fallback) const;

 private:
  std::string full(std::string_view key) const;

  const Metadata& metadata_;
  std::string_view prefix_;
};

// Reads what GGUF stores under the same keys for every family: dimensions, epsilon, rope and its scaling,
// tied embeddings, biases. `prefix` is the family's name in the keys. The rope style is neox, and all layers
// are alike.
base::Result<ModelConfig> read_gguf_fields(const WeightFile& file, std::string_view prefix);

// Reads the keys of a mixture of experts. Every layer after the leading dense ones becomes sparse.
base::Status read_gguf_mixture(const GgufFields& fields, ModelConfig& config);

// Sets attention.sliding_window on the layers for which slides(layer) is true.
base::Status read_gguf_window(const GgufFields& fields, ModelConfig& config, bool (*slides)(int layer));

}  // namespace kvasir::model

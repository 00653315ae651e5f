#pragma once

#include <filesystem>
#include <memory>

#include "base/json.h"
#include "base/result.h"
#include "model/encoder.h"
#include "model/model_config.h"
#include "model/packed_matrix.h"
#include "model/tensor_names.h"
#include "model/weight_file.h"

namespace kvasir::model {

// A model as it lies on disk, understood but not yet loaded.
struct Checkpoint {
  std::shared_ptr<const WeightFile> weights;
  TensorNames names;
  ModelConfig config;              // valid
  base::json::object config_json;  // empty for GGUF
  PackingConfig packing;           // likewise
};

// A GGUF file, or a directory with config.json and safetensors.
base::Result<Checkpoint> open_checkpoint(const std::filesystem::path& path);

// The same for an encoder; a directory's pooling and length limit are read from 1_Pooling/config.json and
// sentence_bert_config.json where they are there.
base::Result<EncoderCheckpoint> open_encoder_checkpoint(const std::filesystem::path& path);

// Whether the checkpoint is an encoder's, by the name of its architecture.
base::Result<bool> holds_encoder(const std::filesystem::path& path);

// JSON of a model directory, at most 64 MiB of it; `not_found` where the file is not there.
base::Result<base::json::value> read_json_value(const std::filesystem::path& path);
base::Result<base::json::object> read_json_file(const std::filesystem::path& path);

}  // namespace kvasir::model

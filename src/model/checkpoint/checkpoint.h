#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "model/arch/encoder_config.h"
#include "model/arch/model_config.h"
#include "model/arch/tensor_names.h"
#include "model/checkpoint/packed_matrix.h"
#include "model/file/weight_file.h"

namespace kvasir::model {

// A model on disk. Its config has been read; its weights are not loaded yet.
struct Checkpoint {
  std::shared_ptr<const WeightFile> weights;
  TensorNames names;
  ModelConfig config;              // valid
  base::json::object config_json;  // empty for GGUF
  PackingConfig packing;           // none for GGUF
};

// The same for an encoder.
struct EncoderCheckpoint {
  std::shared_ptr<const WeightFile> weights;
  EncoderNames names;
  EncoderConfig config;  // valid
};

// A GGUF file, or a directory with config.json and safetensors.
base::Result<Checkpoint> open_checkpoint(const std::filesystem::path& path);

// The same for an encoder. A directory's pooling and length limit come from 1_Pooling/config.json and
// sentence_bert_config.json, if these exist.
base::Result<EncoderCheckpoint> open_encoder_checkpoint(const std::filesystem::path& path);

// Whether the checkpoint is an encoder's, by the name of its architecture.
base::Result<bool> holds_encoder(const std::filesystem::path& path);

// The checkpoint's own name, otherwise that of its file or directory.
std::string model_name(const std::filesystem::path& path, const Metadata& metadata);

}  // namespace kvasir::model

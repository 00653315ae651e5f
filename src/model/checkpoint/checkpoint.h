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

// An encoder on disk. Its config has been read; its weights are not loaded yet.
struct EncoderCheckpoint {
  std::shared_ptr<const WeightFile> weights;
  EncoderNames names;
  EncoderConfig config;  // valid
};

// Opens a GGUF file, or a directory with config.json and safetensors.
base::Result<Checkpoint> open_checkpoint(const std::filesystem::path& path);

// Opens the checkpoint of an encoder in the same forms. A directory's pooling and length limit come from
// 1_Pooling/config.json and sentence_bert_config.json, if these exist.
base::Result<EncoderCheckpoint> open_encoder_checkpoint(const std::filesystem::path& path);

// Whether the checkpoint is an encoder's, judged by the name of its architecture.
base::Result<bool> holds_encoder(const std::filesystem::path& path);

// Returns the name in the checkpoint's metadata, or else the name of its file or directory.
std::string model_name(const std::filesystem::path& path, const Metadata& metadata);

}  // namespace kvasir::model

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

// A model as it lies on disk, understood but not yet loaded.
struct Checkpoint {
  std::shared_ptr<const WeightFile> weights;
  TensorNames names;
  ModelConfig config;              // valid
  base::json::object config_json;  // empty for GGUF
  PackingConfig packing;           // likewise
};

// The same of an encoder.
struct EncoderCheckpoint {
  std::shared_ptr<const WeightFile> weights;
  EncoderNames names;
  EncoderConfig config;  // valid
};

// A GGUF file, or a directory with config.json and safetensors.
base::Result<Checkpoint> open_checkpoint(const std::filesystem::path& path);

// The same for an encoder; a directory's pooling and length limit are read from 1_Pooling/config.json and
// sentence_bert_config.json where they are there.
base::Result<EncoderCheckpoint> open_encoder_checkpoint(const std::filesystem::path& path);

// Whether the checkpoint is an encoder's, by the name of its architecture.
base::Result<bool> holds_encoder(const std::filesystem::path& path);

// What a checkpoint calls itself, else the name of its file or directory.
std::string model_name(const std::filesystem::path& path, const Metadata& metadata);

}  // namespace kvasir::model

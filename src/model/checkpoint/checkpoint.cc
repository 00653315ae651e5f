#include "model/checkpoint/checkpoint.h"

#include <algorithm>
#include <string>
#include <utility>

#include "model/arch/architecture.h"
#include "model/arch/json_fields.h"
#include "model/file/gguf_file.h"
#include "model/file/safetensors_file.h"
#include "model/file/text_file.h"

namespace kvasir::model {

using base::ErrorCode;
namespace json = base::json;

namespace {

base::Error at(const std::filesystem::path& path, const base::Error& error) {
  return base::error(error.code, "{}: {}", path.string(), error.message);
}

base::Result<std::string_view> gguf_architecture(const WeightFile& file) {
  const auto name = file.metadata().string("general.architecture");
  if (!name) return base::error(ErrorCode::corrupt, "no general.architecture");
  return *name;
}

base::Result<std::string_view> json_architecture(const json::object& config) {
  const json::value* type = config.if_contains("model_type");
  if (!type || !type->is_string()) return base::error(ErrorCode::corrupt, "no model_type");
  return std::string_view(type->get_string());
}

base::Status refuse_encoder(std::string_view architecture) {
  if (!is_encoder(architecture)) return base::ok();
  return base::error(ErrorCode::unsupported, "{:?} is an encoder: it makes embeddings, not text",
                     architecture);
}

base::Status configure_gguf(Checkpoint& checkpoint) {
  TRY(const std::string_view name, gguf_architecture(*checkpoint.weights));
  TRY_OK(refuse_encoder(name));
  TRY(const Architecture::Gguf* architecture, find_gguf_architecture(name));
  checkpoint.names = architecture->names;
  TRY(checkpoint.config, architecture->read(*checkpoint.weights));
  return validate(checkpoint.config);
}

base::Status configure_json(Checkpoint& checkpoint) {
  TRY(const std::string_view name, json_architecture(checkpoint.config_json));
  TRY_OK(refuse_encoder(name));
  TRY(const Architecture::HuggingFace* architecture, find_hugging_face_architecture(name));
  checkpoint.names = architecture->names;
  TRY(checkpoint.config, architecture->read(checkpoint.config_json));
  TRY(checkpoint.packing, read_packing(checkpoint.config_json));
  return validate(checkpoint.config);
}

base::Status refuse_decoder(std::string_view architecture) {
  if (is_encoder(architecture)) return base::ok();
  return base::error(ErrorCode::unsupported, "architecture {:?} is not an encoder that Kvasir runs (bert)",
                     architecture);
}

base::Status configure_gguf_encoder(EncoderCheckpoint& checkpoint) {
  TRY(const std::string_view name, gguf_architecture(*checkpoint.weights));
  TRY_OK(refuse_decoder(name));
  checkpoint.names = kGgufEncoderNames;
  TRY(checkpoint.config, read_gguf_encoder(*checkpoint.weights));
  return validate(checkpoint.config);
}

base::Status configure_json_encoder(const json::object& config, EncoderCheckpoint& checkpoint) {
  TRY(const std::string_view name, json_architecture(config));
  TRY_OK(refuse_decoder(name));
  checkpoint.names = kHuggingFaceEncoderNames;
  TRY(checkpoint.config, read_json_encoder(config));
  return validate(checkpoint.config);
}

// Reads a JSON file of sentence-transformers. Returns an empty object if there is no such file.
base::Result<json::object> read_optional_json(const std::filesystem::path& path) {
  auto file = read_json_file(path);
  if (!file.ok() && file.error().code == ErrorCode::not_found) return json::object();
  return file;
}

base::Status read_pooling(const json::object& fields, EncoderConfig& config) {
  if (fields.empty()) return base::ok();
  TRY(const bool mean, json_boolean_or(fields, "pooling_mode_mean_tokens", false));
  TRY(const bool first, json_boolean_or(fields, "pooling_mode_cls_token", false));
  if (mean == first)
    return base::error(ErrorCode::unsupported,
                       "a pooling that is neither of the mean nor of the first token");
  config.pooling = mean ? Pooling::mean : Pooling::first;
  return base::ok();
}

base::Status read_length_limit(const json::object& fields, EncoderConfig& config) {
  TRY(const int limit, json_integer_or(fields, "max_seq_length", config.num_positions));
  if (limit < 1) return base::error(ErrorCode::corrupt, "max_seq_length is {}", limit);
  config.context_length = std::min(limit, config.num_positions);
  return base::ok();
}

}  // namespace

std::string model_name(const std::filesystem::path& path, const Metadata& metadata) {
  if (const auto name = metadata.string("general.name")) return std::string(*name);
  const std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  return whole.has_filename() ? whole.stem().string() : whole.parent_path().filename().string();
}

base::Result<Checkpoint> open_checkpoint(const std::filesystem::path& path) {
  Checkpoint checkpoint;
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    TRY(checkpoint.weights, GgufFile::open(path));
    if (auto status = configure_gguf(checkpoint); !status.ok()) return at(path, status.error());
    return checkpoint;
  }
  const std::filesystem::path config = path / "config.json";
  TRY(checkpoint.config_json, read_json_file(config));
  if (auto status = configure_json(checkpoint); !status.ok()) return at(config, status.error());
  TRY(checkpoint.weights, SafetensorsFile::open_directory(path));
  return checkpoint;
}

base::Result<bool> holds_encoder(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    TRY(const auto file, GgufFile::open(path));
    auto name = gguf_architecture(*file);
    if (!name.ok()) return at(path, name.error());
    return is_encoder(*name);
  }
  TRY(const json::object fields, read_json_file(path / "config.json"));
  auto name = json_architecture(fields);
  if (!name.ok()) return at(path / "config.json", name.error());
  return is_encoder(*name);
}

base::Result<EncoderCheckpoint> open_encoder_checkpoint(const std::filesystem::path& path) {
  EncoderCheckpoint checkpoint;
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    TRY(checkpoint.weights, GgufFile::open(path));
    if (auto status = configure_gguf_encoder(checkpoint); !status.ok()) return at(path, status.error());
    return checkpoint;
  }
  const std::filesystem::path config = path / "config.json";
  TRY(const json::object fields, read_json_file(config));
  if (auto status = configure_json_encoder(fields, checkpoint); !status.ok())
    return at(config, status.error());
  const std::filesystem::path pooling = path / "1_Pooling" / "config.json";
  TRY(const json::object pooling_fields, read_optional_json(pooling));
  if (auto status = read_pooling(pooling_fields, checkpoint.config); !status.ok())
    return at(pooling, status.error());
  const std::filesystem::path limit = path / "sentence_bert_config.json";
  TRY(const json::object limit_fields, read_optional_json(limit));
  if (auto status = read_length_limit(limit_fields, checkpoint.config); !status.ok())
    return at(limit, status.error());
  TRY(checkpoint.weights, SafetensorsFile::open_directory(path));
  return checkpoint;
}

}  // namespace kvasir::model

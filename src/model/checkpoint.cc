#include "model/checkpoint.h"

#include <string>
#include <utility>

#include "model/arch/architecture.h"
#include "model/gguf_file.h"
#include "model/safetensors_file.h"

namespace kvasir::model {

using base::ErrorCode;
namespace json = base::json;

namespace {

constexpr std::size_t kMaxJsonBytes = std::size_t{64} << 20;

base::Error at(const std::filesystem::path& path, const base::Error& error) {
  return base::error(error.code, "{}: {}", path.string(), error.message);
}

base::Status configure_gguf(Checkpoint& checkpoint) {
  const auto name = checkpoint.weights->metadata().string("general.architecture");
  if (!name) return base::error(ErrorCode::corrupt, "no general.architecture");
  TRY(const Architecture::Gguf* architecture, find_gguf_architecture(*name));
  checkpoint.names = architecture->names;
  TRY(checkpoint.config, architecture->read(*checkpoint.weights));
  return validate(checkpoint.config);
}

base::Status configure_json(Checkpoint& checkpoint) {
  const json::value* type = checkpoint.config_json.if_contains("model_type");
  if (!type || !type->is_string()) return base::error(ErrorCode::corrupt, "no model_type");
  TRY(const Architecture::HuggingFace* architecture, find_hugging_face_architecture(type->get_string()));
  checkpoint.names = architecture->names;
  TRY(checkpoint.config, architecture->read(checkpoint.config_json));
  return validate(checkpoint.config);
}

}  // namespace

base::Result<json::object> read_json_file(const std::filesystem::path& path) {
  TRY(const MappedFile file, MappedFile::open(path));
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.size() > kMaxJsonBytes)
    return base::error(ErrorCode::corrupt, "{}: {} bytes of JSON", path.string(), bytes.size());
  auto parsed = base::parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!parsed.ok()) return base::error(ErrorCode::corrupt, "{}: {}", path.string(), parsed.error().message);
  if (!parsed->is_object()) return base::error(ErrorCode::corrupt, "{}: not a JSON object", path.string());
  return std::move(parsed->get_object());
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

}  // namespace kvasir::model

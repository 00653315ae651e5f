#include "model/tokenizer_file.h"

#include <string_view>
#include <system_error>
#include <utility>

#include "model/gguf_file.h"
#include "model/gguf_vocabulary.h"
#include "model/mapped_file.h"

namespace kvasir::model {

using base::ErrorCode;

namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;

base::Result<MappedFile> open_text(const std::filesystem::path& path) {
  TRY(MappedFile file, MappedFile::open(path));
  if (file.bytes().size() > kMaxTextBytes)
    return base::error(ErrorCode::too_large, "{}: {} bytes of text", path.string(), file.bytes().size());
  return file;
}

std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace

base::Result<std::string> read_text_if_there(const std::filesystem::path& path) {
  const auto file = open_text(path);
  if (file.ok()) return std::string(text_of(*file));
  if (file.error().code == ErrorCode::not_found) return std::string();
  return file.error();
}

base::Result<std::shared_ptr<const text::Tokenizer>> read_gguf_tokenizer(const Metadata& metadata) {
  TRY(text::Vocabulary vocabulary, read_vocabulary(metadata));
  return text::Tokenizer::from_vocabulary(std::move(vocabulary));
}

base::Result<std::shared_ptr<const text::Tokenizer>> read_directory_tokenizer(
    const std::filesystem::path& directory, const TokenizerCache& cache) {
  const std::filesystem::path path = directory / "tokenizer.json";
  TRY(const MappedFile tokenizer_json, open_text(path));
  TRY(const std::string config_json, read_text_if_there(directory / "tokenizer_config.json"));
  TRY(const std::string chat_template, read_text_if_there(directory / "chat_template.jinja"));
  auto tokenizer = cache.load(text_of(tokenizer_json), {config_json, chat_template});
  if (!tokenizer.ok())
    return base::error(tokenizer.error().code, "{}: {}", path.string(), tokenizer.error().message);
  return tokenizer;
}

base::Result<std::shared_ptr<const text::Tokenizer>> read_tokenizer(const std::filesystem::path& path,
                                                                    const TokenizerCache& cache) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return read_directory_tokenizer(path, cache);
  TRY(const std::unique_ptr<GgufFile> file, GgufFile::open(path));
  return read_gguf_tokenizer(file->metadata());
}

std::string model_name(const std::filesystem::path& path, const Metadata& metadata) {
  if (const auto name = metadata.string("general.name")) return std::string(*name);
  const std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  return whole.has_filename() ? whole.stem().string() : whole.parent_path().filename().string();
}

}  // namespace kvasir::model

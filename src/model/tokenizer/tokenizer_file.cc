#include "model/tokenizer/tokenizer_file.h"

#include <string_view>
#include <system_error>
#include <utility>

#include "model/file/gguf_file.h"
#include "model/file/text_file.h"
#include "model/tokenizer/gguf_vocabulary.h"

namespace kvasir::model {

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

}  // namespace kvasir::model

#pragma once

#include <filesystem>
#include <memory>

#include "base/result.h"
#include "model/file/metadata.h"
#include "model/tokenizer/tokenizer_cache.h"
#include "text/tokenizer/tokenizer.h"

namespace kvasir::model {

// Reads the tokenizer in a GGUF file's metadata.
base::Result<std::shared_ptr<const text::Tokenizer>> read_gguf_tokenizer(const Metadata& metadata);
// Reads a directory's tokenizer.json and tokenizer_config.json. Fails with `not_found` if there is no
// tokenizer.json.
base::Result<std::shared_ptr<const text::Tokenizer>> read_directory_tokenizer(
    const std::filesystem::path& directory, const TokenizerCache& cache = {});
// Reads the tokenizer of a directory or of a GGUF file.
base::Result<std::shared_ptr<const text::Tokenizer>> read_tokenizer(const std::filesystem::path& path,
                                                                    const TokenizerCache& cache = {});

}  // namespace kvasir::model

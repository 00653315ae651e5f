#pragma once

#include <filesystem>
#include <memory>

#include "base/result.h"
#include "model/file/metadata.h"
#include "model/tokenizer/tokenizer_cache.h"
#include "text/tokenizer/tokenizer.h"

namespace kvasir::model {

// Reads a GGUF's metadata.
base::Result<std::shared_ptr<const text::Tokenizer>> read_gguf_tokenizer(const Metadata& metadata);
// Reads a directory's tokenizer.json and tokenizer_config.json; `not_found` without the first.
base::Result<std::shared_ptr<const text::Tokenizer>> read_directory_tokenizer(
    const std::filesystem::path& directory, const TokenizerCache& cache = {});
// Reads either: a directory or a GGUF file.
base::Result<std::shared_ptr<const text::Tokenizer>> read_tokenizer(const std::filesystem::path& path,
                                                                    const TokenizerCache& cache = {});

}  // namespace kvasir::model

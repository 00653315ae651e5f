#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"
#include "model/metadata.h"
#include "model/tokenizer_cache.h"
#include "text/tokenizer/tokenizer.h"

namespace kvasir::model {

// A text file of a model directory, at most 64 MiB of it; empty where it is not there.
base::Result<std::string> read_text_if_there(const std::filesystem::path& path);

// From a GGUF's metadata.
base::Result<std::shared_ptr<const text::Tokenizer>> read_gguf_tokenizer(const Metadata& metadata);
// From a directory's tokenizer.json and tokenizer_config.json; `not_found` without the first.
base::Result<std::shared_ptr<const text::Tokenizer>> read_directory_tokenizer(
    const std::filesystem::path& directory, const TokenizerCache& cache = {});
// From either: a directory or a GGUF file.
base::Result<std::shared_ptr<const text::Tokenizer>> read_tokenizer(const std::filesystem::path& path,
                                                                    const TokenizerCache& cache = {});

// What a checkpoint calls itself, else the name of its file or directory.
std::string model_name(const std::filesystem::path& path, const Metadata& metadata);

}  // namespace kvasir::model

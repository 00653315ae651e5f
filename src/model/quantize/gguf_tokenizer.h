#pragma once

#include <filesystem>

#include "base/result.h"
#include "model/file/gguf_writer.h"
#include "text/tokenizer/vocabulary.h"

namespace kvasir::model {

// A directory's tokenizer.json and tokenizer_config.json as a GGUF vocabulary of at least `size` tokens;
// those that the tokenizer lacks are unused. Only for byte-level BPE with a split that GGUF has a name for:
// the first one that gives the directory's own tokens for a set of test texts.
base::Result<text::Vocabulary> directory_vocabulary(const std::filesystem::path& directory, int size);

// Writes the vocabulary's keys. Without a tokenizer.json, the keys say that there is no vocabulary.
base::Status write_gguf_tokenizer(const std::filesystem::path& directory, int size, GgufWriter& writer);

}  // namespace kvasir::model

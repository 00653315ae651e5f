#pragma once

#include <filesystem>

#include "base/result.h"
#include "model/file/gguf_writer.h"
#include "text/tokenizer/vocabulary.h"

namespace kvasir::model {

// Reads a directory's tokenizer.json and tokenizer_config.json as a GGUF vocabulary of at least `size`
// tokens; tokens that the tokenizer lacks are marked as unused. Works only for byte-level BPE whose split has
// a name in GGUF. The first name is taken that gives the directory's own tokens for a set of test texts.
base::Result<text::Vocabulary> directory_vocabulary(const std::filesystem::path& directory, int size);

// Writes the vocabulary's keys. Without a tokenizer.json, the keys say that there is no vocabulary.
base::Status write_gguf_tokenizer(const std::filesystem::path& directory, int size, GgufWriter& writer);

}  // namespace kvasir::model

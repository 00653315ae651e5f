#pragma once

#include <filesystem>

#include "base/result.h"
#include "model/file/gguf_writer.h"
#include "text/tokenizer/vocabulary.h"

namespace kvasir::model {

// A directory's tokenizer.json and tokenizer_config.json as a GGUF's vocabulary of `size` tokens or more:
// what the tokenizer lacks is unused. Byte-level BPE only, and only with a split that the format has a name
// for: the first whose tokens are the same as the directory's own over texts that tell them apart.
base::Result<text::Vocabulary> directory_vocabulary(const std::filesystem::path& directory, int size);

// The vocabulary's keys; without tokenizer.json, that there is none.
base::Status write_gguf_tokenizer(const std::filesystem::path& directory, int size, GgufWriter& writer);

}  // namespace kvasir::model

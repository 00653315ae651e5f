#pragma once

#include "base/result.h"
#include "model/file/metadata.h"
#include "text/tokenizer/vocabulary.h"

namespace kvasir::model {

// Reads the vocabulary and the chat template of a GGUF file. The tokenizer checks whether its parts fit
// together.
base::Result<text::Vocabulary> read_vocabulary(const Metadata& metadata);

}  // namespace kvasir::model

#pragma once

#include "base/result.h"
#include "model/file/metadata.h"
#include "text/tokenizer/vocabulary.h"

namespace kvasir::model {

// The vocabulary and the chat template that a GGUF file carries. The tokenizer checks whether they fit
// together.
base::Result<text::Vocabulary> read_vocabulary(const Metadata& metadata);

}  // namespace kvasir::model

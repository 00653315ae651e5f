#pragma once

#include "base/result.h"
#include "model/file/metadata.h"
#include "text/tokenizer/vocabulary.h"

namespace kvasir::model {

// The vocabulary and the chat template that a GGUF file carries. Whether they fit together is the
// tokenizer's to check.
base::Result<text::Vocabulary> read_vocabulary(const Metadata& metadata);

}  // namespace kvasir::model

#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/decoder.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace kvasir::model {

// Everything that a checkpoint gives: what computes, and what turns text into tokens and back. The decoder
// goes to an engine thread; the rest is immutable and shared.
struct LoadedModel {
  std::string name;  // what the checkpoint calls itself
  std::unique_ptr<Decoder> decoder;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<const text::ChatTemplate> chat_template;  // one of Kvasir's where the checkpoint has none
  std::vector<TokenId> end_tokens;                          // ascending

  const ModelConfig& config() const { return decoder->config(); }
  int context_length() const { return config().context_length; }
};

// From a GGUF file, or from a directory with config.json, model.safetensors (or shards and their index) and
// tokenizer.json. `pool` outlives the decoder.
base::Result<LoadedModel> open_model(const std::filesystem::path& path, DecoderOptions options,
                                     ops::ComputePool& pool);

}  // namespace kvasir::model

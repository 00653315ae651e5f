#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/decoder/decoder.h"
#include "model/decoder/device_decoder.h"
#include "model/tokenizer/tokenizer_cache.h"
#include "text/chat_template.h"
#include "text/tokenizer/tokenizer.h"

namespace kvasir::model {

// Everything that a checkpoint gives: what computes, and what turns text into tokens and back. The decoder
// goes to an engine thread; the rest is immutable and shared.
struct LoadedModel {
  std::string name;                               // what the checkpoint calls itself
  std::unique_ptr<Decoder> decoder;               // or, of a model on a device of its own,
  std::unique_ptr<DeviceDecoder> device_decoder;  // this
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<const text::ChatTemplate> chat_template;  // one of Kvasir's where the checkpoint has none
  std::vector<TokenId> end_tokens;                          // ascending

  const ModelConfig& config() const { return decoder ? decoder->config() : device_decoder->config(); }
  int context_length() const { return config().context_length; }
};

// From a GGUF file, or from a directory with config.json, model.safetensors (or shards and their index) and
// tokenizer.json. `pool` outlives the decoder.
base::Result<LoadedModel> open_model(const std::filesystem::path& path, DecoderOptions options,
                                     ops::ComputePool& pool, const TokenizerCache& tokenizers = {});
// The same on the first GPU.
base::Result<LoadedModel> open_model_on_cuda(const std::filesystem::path& path, const DeviceOptions& options,
                                             ops::ComputePool& pool, const TokenizerCache& tokenizers = {});

}  // namespace kvasir::model

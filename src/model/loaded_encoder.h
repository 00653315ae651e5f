#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/encoder/encoder.h"
#include "text/tokenizer/tokenizer.h"

namespace kvasir::model {

// An encoder and the tokenizer that belongs to it. The tokenizer is immutable and shared.
struct LoadedEncoder {
  std::string name;
  std::unique_ptr<Encoder> encoder;
  std::shared_ptr<const text::Tokenizer> tokenizer;

  // Returns the tokenizer's first token, the text's tokens, and the tokenizer's last token, at most
  // `max_tokens` in all.
  std::vector<TokenId> tokens(std::string_view text, int max_tokens) const;
  std::vector<TokenId> tokens(std::string_view text) const {
    return tokens(text, encoder->config().context_length);
  }
};

// Opens a GGUF file, or a directory with config.json, model.safetensors and tokenizer.json. `pool` must
// outlive the encoder.
base::Result<LoadedEncoder> open_encoder(const std::filesystem::path& path, EncoderOptions options,
                                         ops::ComputePool& pool);

}  // namespace kvasir::model

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
#include "wire/sampling_advice.h"

namespace kvasir::model {

// Turns text into a model's tokens and back. Immutable and shared.
struct Speech {
  std::string name;  // the checkpoint's own
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<const text::ChatTemplate> chat_template;  // Kvasir's own if the checkpoint has none
  std::vector<TokenId> end_tokens;                          // ascending
  wire::SamplingAdvice sampling;                            // from the checkpoint's files
};

// The parts that are loaded from a checkpoint: its speech, and a decoder, which an engine thread takes over.
template <class AnyDecoder>
struct Loaded : Speech {
  std::unique_ptr<AnyDecoder> decoder;

  const ModelConfig& config() const { return decoder->config(); }
  int context_length() const { return config().context_length; }
};
using LoadedModel = Loaded<Decoder>;              // on the CPU
using LoadedDeviceModel = Loaded<DeviceDecoder>;  // on a GPU

// Opens a GGUF file, or a directory with config.json, model.safetensors (or shards and their index) and
// tokenizer.json. `pool` must outlive the decoder.
base::Result<LoadedModel> open_model(const std::filesystem::path& path, DecoderOptions options,
                                     ops::ComputePool& pool, const TokenizerCache& tokenizers = {});
// Opens a model as open_model does, with its decoder on the first GPU.
base::Result<LoadedDeviceModel> open_model_on_cuda(const std::filesystem::path& path,
                                                   const DeviceOptions& options, ops::ComputePool& pool,
                                                   const TokenizerCache& tokenizers = {});

// The files that are needed to turn a model's text into tokens, without its weights.
struct SpeechFiles {
  struct File {
    std::string name;
    std::string bytes;
  };
  std::vector<File> files;  // model.gguf without tensors, or the directory's text files
  int vocab_size = 0;       // of the weights, which may be padded
};
base::Result<std::vector<SpeechFiles::File>> read_text_files(const std::filesystem::path& path);
base::Result<SpeechFiles> read_speech_files(const std::filesystem::path& path);
// Opens the tokenizer of a model or an encoder whose text files are in this folder.
base::Result<std::shared_ptr<const text::Tokenizer>> open_text_files(const std::filesystem::path& folder,
                                                                     const TokenizerCache& tokenizers = {});
// Opens the speech of a model whose speech files are in this folder.
base::Result<Speech> open_speech(const std::filesystem::path& folder, int vocab_size,
                                 const TokenizerCache& tokenizers = {});

}  // namespace kvasir::model

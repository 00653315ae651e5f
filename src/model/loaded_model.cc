#include "model/loaded_model.h"

#include <algorithm>
#include <future>
#include <string_view>
#include <utility>

#include "model/checkpoint/checkpoint.h"
#include "model/file/text_file.h"
#include "model/read_sampling.h"
#include "model/tokenizer/tokenizer_file.h"

namespace kvasir::model {

using base::ErrorCode;
namespace json = base::json;

namespace {

base::Result<Speech> make_speech(std::shared_ptr<const text::Tokenizer> tokenizer,
                                 std::string template_source) {
  Speech speech;
  if (template_source.empty()) {
    const bool knows_chatml = tokenizer->find("<|im_start|>").has_value();
    speech.chat_template = std::make_shared<text::ChatTemplate>(
        knows_chatml ? text::ChatTemplate::chatml() : text::ChatTemplate::dialogue());
  } else {
    TRY(text::ChatTemplate parsed, text::ChatTemplate::parse(std::move(template_source)));
    speech.chat_template = std::make_shared<text::ChatTemplate>(std::move(parsed));
  }
  speech.end_tokens.assign(tokenizer->end_tokens().begin(), tokenizer->end_tokens().end());
  speech.tokenizer = std::move(tokenizer);
  return speech;
}

base::Result<Speech> read_gguf_speech(const Metadata& metadata) {
  TRY(std::shared_ptr<const text::Tokenizer> tokenizer, read_gguf_tokenizer(metadata));
  std::string source = tokenizer->chat_template();
  TRY(Speech speech, make_speech(std::move(tokenizer), std::move(source)));
  speech.sampling = read_gguf_sampling(metadata);
  return speech;
}

// generation_config.json and config.json name end tokens as one number or as a list.
void add_end_tokens(const json::object& config, int vocab_size, std::vector<TokenId>& end_tokens) {
  const json::value* field = config.if_contains("eos_token_id");
  if (!field) return;
  const auto add = [&](const json::value& value) {
    const auto* id = value.if_int64();
    if (id && *id >= 0 && *id < vocab_size) end_tokens.push_back(static_cast<TokenId>(*id));
  };
  if (const auto* list = field->if_array()) {
    for (const json::value& value : *list) add(value);
  } else {
    add(*field);
  }
  std::sort(end_tokens.begin(), end_tokens.end());
  end_tokens.erase(std::unique(end_tokens.begin(), end_tokens.end()), end_tokens.end());
}

base::Result<Speech> read_directory_speech(const std::filesystem::path& path, const Checkpoint& checkpoint,
                                           const TokenizerCache& tokenizers) {
  TRY(std::shared_ptr<const text::Tokenizer> tokenizer, read_directory_tokenizer(path, tokenizers));
  std::string source = tokenizer->chat_template();
  TRY(Speech speech, make_speech(std::move(tokenizer), std::move(source)));

  add_end_tokens(checkpoint.config_json, checkpoint.config.vocab_size, speech.end_tokens);
  auto generation = read_json_file(path / "generation_config.json");
  if (generation.ok()) {
    add_end_tokens(*generation, checkpoint.config.vocab_size, speech.end_tokens);
    speech.sampling = read_sampling(*generation);
  } else if (generation.error().code != ErrorCode::not_found) {
    return std::move(generation).error();
  }
  return speech;
}

base::Result<Speech> read_speech(const std::filesystem::path& path, const Checkpoint& checkpoint,
                                 const TokenizerCache& tokenizers) {
  auto speech = checkpoint.config_json.empty() ? read_gguf_speech(checkpoint.weights->metadata())
                                               : read_directory_speech(path, checkpoint, tokenizers);
  if (!speech.ok()) return base::error(speech.error().code, "{}: {}", path.string(), speech.error().message);
  // A request could name a token without an embedding, which cannot be computed.
  if (speech->tokenizer->size() > checkpoint.config.vocab_size)
    return base::error(ErrorCode::corrupt, "{}: {} tokens for a model of {}", path.string(),
                       speech->tokenizer->size(), checkpoint.config.vocab_size);
  speech->name = model_name(path, checkpoint.weights->metadata());
  return speech;
}

// `load(checkpoint)` gives the decoder.
template <class AnyDecoder, class Load>
base::Result<Loaded<AnyDecoder>> open_with(const std::filesystem::path& path,
                                           const TokenizerCache& tokenizers, const Load& load) {
  TRY(Checkpoint checkpoint, open_checkpoint(path));
  // The tokenizer of a large vocabulary takes some tenths of a second; the weights load meanwhile. Without a
  // launch policy, it runs at get() if the system has no thread to give.
  auto reading =
      std::async([path, checkpoint, tokenizers] { return read_speech(path, checkpoint, tokenizers); });
  base::Result<std::unique_ptr<AnyDecoder>> decoder = load(std::move(checkpoint));
  TRY(Speech speech, reading.get());
  if (!decoder.ok())
    return base::error(decoder.error().code, "{}: {}", path.string(), decoder.error().message);
  return Loaded<AnyDecoder>{std::move(speech), std::move(*decoder)};
}

}  // namespace

base::Result<LoadedModel> open_model(const std::filesystem::path& path, DecoderOptions options,
                                     ops::ComputePool& pool, const TokenizerCache& tokenizers) {
  return open_with<Decoder>(path, tokenizers, [&](Checkpoint checkpoint) {
    return Decoder::load(std::move(checkpoint), options, pool);
  });
}

base::Result<LoadedDeviceModel> open_model_on_cuda(const std::filesystem::path& path,
                                                   const DeviceOptions& options, ops::ComputePool& pool,
                                                   const TokenizerCache& tokenizers) {
  return open_with<DeviceDecoder>(path, tokenizers, [&](Checkpoint checkpoint) {
    return load_cuda_decoder(std::move(checkpoint), options, pool);
  });
}

}  // namespace kvasir::model

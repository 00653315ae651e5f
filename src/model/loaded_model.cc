#include "model/loaded_model.h"

#include <algorithm>
#include <future>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "model/checkpoint/checkpoint.h"
#include "model/file/gguf_file.h"
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

// Adds the end tokens that generation_config.json or config.json names, as one number or as a list.
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

base::Result<Speech> read_directory_speech(const std::filesystem::path& path, const json::object& config,
                                           int vocab_size, const TokenizerCache& tokenizers) {
  TRY(std::shared_ptr<const text::Tokenizer> tokenizer, read_directory_tokenizer(path, tokenizers));
  std::string source = tokenizer->chat_template();
  TRY(Speech speech, make_speech(std::move(tokenizer), std::move(source)));

  add_end_tokens(config, vocab_size, speech.end_tokens);
  auto generation = read_json_file(path / "generation_config.json");
  if (generation.ok()) {
    add_end_tokens(*generation, vocab_size, speech.end_tokens);
    speech.sampling = read_sampling(*generation);
  } else if (generation.error().code != ErrorCode::not_found) {
    return std::move(generation).error();
  }
  return speech;
}

// Fails if the tokenizer has more tokens than the model: a token without an embedding cannot be computed.
base::Result<Speech> checked(base::Result<Speech> speech, const std::filesystem::path& path, int vocab_size) {
  if (!speech.ok()) return base::error(speech.error().code, "{}: {}", path.string(), speech.error().message);
  if (speech->tokenizer->size() > vocab_size)
    return base::error(ErrorCode::corrupt, "{}: {} tokens for a model of {}", path.string(),
                       speech->tokenizer->size(), vocab_size);
  return speech;
}

base::Result<Speech> read_speech(const std::filesystem::path& path, const Checkpoint& checkpoint,
                                 const TokenizerCache& tokenizers) {
  const int vocab_size = checkpoint.config.vocab_size;
  TRY(Speech speech,
      checked(checkpoint.config_json.empty()
                  ? read_gguf_speech(checkpoint.weights->metadata())
                  : read_directory_speech(path, checkpoint.config_json, vocab_size, tokenizers),
              path, vocab_size));
  speech.name = model_name(path, checkpoint.weights->metadata());
  return speech;
}

constexpr const char* kHeadName = "model.gguf";

// Returns the bytes of a GGUF file, version 3, with these keys and no tensors.
std::string gguf_of_keys(std::span<const GgufKey> keys) {
  std::string bytes = "GGUF";
  const auto put = [&bytes](auto number) {
    for (std::size_t i = 0; i < sizeof number; ++i) bytes += static_cast<char>(number >> (8 * i));
  };
  put(std::uint32_t{3});
  put(std::uint64_t{0});
  put(std::uint64_t{keys.size()});
  for (const GgufKey& key : keys)
    bytes.append(reinterpret_cast<const char*>(key.bytes.data()), key.bytes.size());
  return bytes;
}

// `load(checkpoint)` returns the decoder.
template <class AnyDecoder, class Load>
base::Result<Loaded<AnyDecoder>> open_with(const std::filesystem::path& path,
                                           const TokenizerCache& tokenizers, const Load& load) {
  TRY(Checkpoint checkpoint, open_checkpoint(path));
  // Reading a large vocabulary takes some tenths of a second, so the weights load at the same time. There is
  // no launch policy, so that the reading happens in get() if the system cannot start a thread.
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

base::Result<std::vector<SpeechFiles::File>> read_text_files(const std::filesystem::path& path) {
  std::vector<SpeechFiles::File> files;
  if (std::error_code code; !std::filesystem::is_directory(path, code)) {
    TRY(const std::unique_ptr<GgufFile> file, GgufFile::open(path));
    files.push_back({kHeadName, gguf_of_keys(file->keys())});
    return files;
  }
  for (const char* name : {"config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json",
                           "chat_template.jinja"}) {
    std::error_code ignored;
    if (!std::filesystem::exists(path / name, ignored)) continue;
    TRY(const MappedFile file, open_text(path / name));
    files.push_back({name, std::string(text_of(file))});
  }
  return files;
}

base::Result<SpeechFiles> read_speech_files(const std::filesystem::path& path) {
  TRY(const Checkpoint checkpoint, open_checkpoint(path));
  SpeechFiles speech{.vocab_size = checkpoint.config.vocab_size};
  TRY(speech.files, read_text_files(path));
  return speech;
}

base::Result<std::shared_ptr<const text::Tokenizer>> open_text_files(const std::filesystem::path& folder,
                                                                     const TokenizerCache& tokenizers) {
  std::error_code ignored;
  if (std::filesystem::exists(folder / kHeadName, ignored))
    return read_tokenizer(folder / kHeadName, tokenizers);
  return read_tokenizer(folder, tokenizers);
}

base::Result<Speech> open_speech(const std::filesystem::path& folder, int vocab_size,
                                 const TokenizerCache& tokenizers) {
  std::error_code ignored;
  if (std::filesystem::exists(folder / kHeadName, ignored)) {
    TRY(const std::unique_ptr<GgufFile> file, GgufFile::open(folder / kHeadName));
    return checked(read_gguf_speech(file->metadata()), folder, vocab_size);
  }
  TRY(const json::object config, read_json_file(folder / "config.json"));
  return checked(read_directory_speech(folder, config, vocab_size, tokenizers), folder, vocab_size);
}

}  // namespace kvasir::model

#include "model/loaded_model.h"

#include <algorithm>
#include <future>
#include <string_view>
#include <utility>

#include "model/gguf_vocabulary.h"
#include "model/mapped_file.h"

namespace kvasir::model {

using base::ErrorCode;
namespace json = base::json;

namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;

// The text half of a model.
struct Speech {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<const text::ChatTemplate> chat_template;
  std::vector<TokenId> end_tokens;
};

base::Result<std::string> read_text(const std::filesystem::path& path) {
  TRY(const MappedFile file, MappedFile::open(path));
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.size() > kMaxTextBytes)
    return base::error(ErrorCode::too_large, "{}: {} bytes of text", path.string(), bytes.size());
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

base::Result<std::string> read_text_if_there(const std::filesystem::path& path) {
  auto text = read_text(path);
  if (!text.ok() && text.error().code == ErrorCode::not_found) return std::string();
  return text;
}

base::Result<Speech> make_speech(std::shared_ptr<const text::Tokenizer> tokenizer,
                                 std::string template_source) {
  Speech speech;
  if (template_source.empty()) {
    speech.chat_template = std::make_shared<text::ChatTemplate>(text::ChatTemplate::chatml());
  } else {
    TRY(text::ChatTemplate parsed, text::ChatTemplate::parse(std::move(template_source)));
    speech.chat_template = std::make_shared<text::ChatTemplate>(std::move(parsed));
  }
  speech.end_tokens.assign(tokenizer->end_tokens().begin(), tokenizer->end_tokens().end());
  speech.tokenizer = std::move(tokenizer);
  return speech;
}

base::Result<Speech> read_gguf_speech(const Metadata& metadata) {
  TRY(text::Vocabulary vocabulary, read_vocabulary(metadata));
  TRY(std::shared_ptr<const text::Tokenizer> tokenizer,
      text::Tokenizer::from_vocabulary(std::move(vocabulary)));
  std::string source = tokenizer->chat_template();
  return make_speech(std::move(tokenizer), std::move(source));
}

// generation_config.json and config.json name end tokens as a number or a list of them.
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

base::Result<Speech> read_directory_speech(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  const std::filesystem::path tokenizer_path = path / "tokenizer.json";
  TRY(const std::string tokenizer_json, read_text(tokenizer_path));
  TRY(const std::string tokenizer_config, read_text_if_there(path / "tokenizer_config.json"));
  auto tokenizer = text::Tokenizer::from_json(tokenizer_json, tokenizer_config);
  if (!tokenizer.ok())
    return base::error(tokenizer.error().code, "{}: {}", tokenizer_path.string(), tokenizer.error().message);
  TRY(std::string source, read_text_if_there(path / "chat_template.jinja"));
  if (source.empty()) source = (*tokenizer)->chat_template();
  TRY(Speech speech, make_speech(std::move(*tokenizer), std::move(source)));

  add_end_tokens(checkpoint.config_json, checkpoint.config.vocab_size, speech.end_tokens);
  auto generation = read_json_file(path / "generation_config.json");
  if (generation.ok())
    add_end_tokens(*generation, checkpoint.config.vocab_size, speech.end_tokens);
  else if (generation.error().code != ErrorCode::not_found)
    return std::move(generation).error();
  return speech;
}

base::Result<Speech> read_speech(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  auto speech = checkpoint.config_json.empty() ? read_gguf_speech(checkpoint.weights->metadata())
                                               : read_directory_speech(path, checkpoint);
  if (!speech.ok()) return base::error(speech.error().code, "{}: {}", path.string(), speech.error().message);
  // A token that has no embedding could be asked for and not be computed.
  if (speech->tokenizer->size() > checkpoint.config.vocab_size)
    return base::error(ErrorCode::corrupt, "{}: {} tokens for a model of {}", path.string(),
                       speech->tokenizer->size(), checkpoint.config.vocab_size);
  return speech;
}

std::string model_name(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  if (const auto name = checkpoint.weights->metadata().string("general.name")) return std::string(*name);
  const std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  return whole.has_filename() ? whole.stem().string() : whole.parent_path().filename().string();
}

}  // namespace

base::Result<LoadedModel> open_model(const std::filesystem::path& path, DecoderOptions options,
                                     ops::ComputePool& pool) {
  TRY(Checkpoint checkpoint, open_checkpoint(path));
  LoadedModel model;
  model.name = model_name(path, checkpoint);
  // The tokenizer of a large vocabulary takes some tenths of a second; the weights load meanwhile.
  // Without a launch policy it runs at get() where the system has no thread to give.
  auto reading = std::async([path, checkpoint] { return read_speech(path, checkpoint); });
  auto decoder = Decoder::load(std::move(checkpoint), options, pool);
  TRY(Speech speech, reading.get());
  if (!decoder.ok())
    return base::error(decoder.error().code, "{}: {}", path.string(), decoder.error().message);
  model.decoder = std::move(*decoder);
  model.tokenizer = std::move(speech.tokenizer);
  model.chat_template = std::move(speech.chat_template);
  model.end_tokens = std::move(speech.end_tokens);
  return model;
}

}  // namespace kvasir::model

#include "model/loaded_encoder.h"

#include <algorithm>
#include <utility>

#include "model/checkpoint/checkpoint.h"
#include "model/tokenizer/tokenizer_file.h"

namespace kvasir::model {

using base::ErrorCode;

std::vector<TokenId> LoadedEncoder::tokens(std::string_view text, int max_tokens) const {
  std::vector<TokenId> ids;
  if (tokenizer->add_bos()) ids.push_back(*tokenizer->bos());
  const std::vector<TokenId> words = tokenizer->encode(text, text::Specials::as_text);
  const std::size_t taken = ids.size() + (tokenizer->add_eos() ? 1 : 0);
  const std::size_t room = static_cast<std::size_t>(max_tokens) - std::min<std::size_t>(taken, max_tokens);
  ids.insert(ids.end(), words.begin(),
             words.begin() + static_cast<std::ptrdiff_t>(std::min(words.size(), room)));
  if (tokenizer->add_eos()) ids.push_back(*tokenizer->eos());
  return ids;
}

base::Result<LoadedEncoder> open_encoder(const std::filesystem::path& path, EncoderOptions options,
                                         ops::ComputePool& pool) {
  TRY(EncoderCheckpoint checkpoint, open_encoder_checkpoint(path));
  const Metadata& metadata = checkpoint.weights->metadata();
  LoadedEncoder loaded;
  loaded.name = model_name(path, metadata);
  std::error_code ignored;
  auto tokenizer = std::filesystem::is_directory(path, ignored) ? read_directory_tokenizer(path)
                                                                : read_gguf_tokenizer(metadata);
  if (!tokenizer.ok())
    return base::error(tokenizer.error().code, "{}: {}", path.string(), tokenizer.error().message);
  loaded.tokenizer = std::move(*tokenizer);
  if (loaded.tokenizer->size() > checkpoint.config.vocab_size)
    return base::error(ErrorCode::corrupt, "{}: {} tokens for a model of {}", path.string(),
                       loaded.tokenizer->size(), checkpoint.config.vocab_size);
  auto encoder = Encoder::load(std::move(checkpoint), options, pool);
  if (!encoder.ok())
    return base::error(encoder.error().code, "{}: {}", path.string(), encoder.error().message);
  loaded.encoder = std::move(*encoder);
  return loaded;
}

}  // namespace kvasir::model

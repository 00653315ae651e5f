#include "model/tokenizer/gguf_vocabulary.h"

#include <limits>
#include <string>
#include <utility>

namespace kvasir::model {

using base::ErrorCode;

namespace {

base::Result<std::optional<TokenId>> token_id(const Metadata& metadata, std::string_view key) {
  const auto id = metadata.integer(key);
  if (!id) return std::optional<TokenId>();
  if (*id < 0 || *id > std::numeric_limits<TokenId>::max())
    return base::error(ErrorCode::corrupt, "{} is {}", key, *id);
  return std::optional(static_cast<TokenId>(*id));
}

base::Result<std::vector<text::TokenType>> token_types(const Metadata& metadata) {
  std::vector<text::TokenType> types;
  const auto* stored = metadata.integers("tokenizer.ggml.token_type");
  if (!stored) return types;
  types.reserve(stored->size());
  for (const std::int64_t type : *stored) {
    if (type < static_cast<int>(text::TokenType::normal) || type > static_cast<int>(text::TokenType::byte))
      return base::error(ErrorCode::corrupt, "tokenizer.ggml.token_type holds {}", type);
    types.push_back(static_cast<text::TokenType>(type));
  }
  return types;
}

// BERT's first and last token have keys of their own. GGUF itself spells "seperator" with this mistake.
base::Status read_bert_tokens(const Metadata& metadata, text::Vocabulary& vocabulary) {
  TRY(const auto first, token_id(metadata, "tokenizer.ggml.cls_token_id"));
  TRY(const auto last, token_id(metadata, "tokenizer.ggml.seperator_token_id"));
  if (first) vocabulary.bos = first;
  if (last) vocabulary.eos = last;
  return base::ok();
}

// Reads the tokens for filling in the middle. Some files have older keys for the first three.
base::Status read_fim_tokens(const Metadata& metadata, text::FimIds& fim) {
  const auto read = [&](std::string_view name, std::optional<TokenId>& id) -> base::Status {
    TRY(const auto found, token_id(metadata, fmt::format("tokenizer.ggml.{}_token_id", name)));
    if (found) id = found;
    return base::ok();
  };
  const std::pair<std::string_view, std::optional<TokenId>*> keys[] = {
      {"prefix", &fim.prefix},  {"suffix", &fim.suffix},      {"middle", &fim.middle},
      {"fim_pre", &fim.prefix}, {"fim_suf", &fim.suffix},     {"fim_mid", &fim.middle},
      {"fim_pad", &fim.pad},    {"fim_rep", &fim.repository}, {"fim_sep", &fim.file}};
  for (const auto& [name, id] : keys) TRY_OK(read(name, *id));
  return base::ok();
}

}  // namespace

base::Result<text::Vocabulary> read_vocabulary(const Metadata& metadata) {
  text::Vocabulary vocabulary;
  const auto model = metadata.string("tokenizer.ggml.model");
  const auto* tokens = metadata.strings("tokenizer.ggml.tokens");
  if (!model || !tokens) return base::error(ErrorCode::corrupt, "the file has no vocabulary");
  vocabulary.model = *model;
  vocabulary.pre = metadata.string("tokenizer.ggml.pre").value_or("default");
  vocabulary.tokens.assign(tokens->begin(), tokens->end());
  TRY(vocabulary.types, token_types(metadata));
  if (const auto* merges = metadata.strings("tokenizer.ggml.merges"))
    vocabulary.merges.assign(merges->begin(), merges->end());
  if (const auto* scores = metadata.numbers("tokenizer.ggml.scores"))
    vocabulary.scores.assign(scores->begin(), scores->end());
  TRY(vocabulary.bos, token_id(metadata, "tokenizer.ggml.bos_token_id"));
  TRY(vocabulary.eos, token_id(metadata, "tokenizer.ggml.eos_token_id"));
  TRY(vocabulary.eot, token_id(metadata, "tokenizer.ggml.eot_token_id"));
  TRY(vocabulary.unk, token_id(metadata, "tokenizer.ggml.unknown_token_id"));
  TRY(vocabulary.pad, token_id(metadata, "tokenizer.ggml.padding_token_id"));
  TRY_OK(read_fim_tokens(metadata, vocabulary.fim));
  const bool bert = vocabulary.model == "bert";
  if (bert) TRY_OK(read_bert_tokens(metadata, vocabulary));
  // Texts of sentencepiece models and BERT begin with bos unless the file says otherwise. BERT's texts also
  // end with eos.
  vocabulary.add_bos =
      metadata.boolean("tokenizer.ggml.add_bos_token").value_or(bert || vocabulary.model == "llama");
  vocabulary.add_eos = bert;
  vocabulary.add_space_prefix = metadata.boolean("tokenizer.ggml.add_space_prefix").value_or(true);
  vocabulary.chat_template = metadata.string("tokenizer.chat_template").value_or("");
  return vocabulary;
}

}  // namespace kvasir::model

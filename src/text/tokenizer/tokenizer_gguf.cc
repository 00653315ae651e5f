#include <algorithm>
#include <cmath>
#include <utility>

#include "text/tokenizer/bpe.h"
#include "text/tokenizer/byte_level.h"
#include "text/tokenizer/merge_table.h"
#include "text/tokenizer/string_index.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/tokenizer_parts.h"
#include "text/tokenizer/word_piece.h"

namespace kvasir::text {
namespace {

using base::ErrorCode;
using base::Result;
using base::Status;

Status check_shape(const Vocabulary& vocabulary) {
  const std::size_t size = vocabulary.tokens.size();
  if (size == 0) return base::error(ErrorCode::corrupt, "the vocabulary has no tokens");
  if (size > (1u << 24)) return base::error(ErrorCode::corrupt, "the vocabulary has {} tokens", size);
  if (!vocabulary.types.empty() && vocabulary.types.size() != size) {
    return base::error(ErrorCode::corrupt, "the vocabulary has {} tokens and {} token types", size,
                       vocabulary.types.size());
  }
  const std::pair<const char*, std::optional<TokenId>> named[] = {
      {"bos", vocabulary.bos},
      {"eos", vocabulary.eos},
      {"eot", vocabulary.eot},
      {"unknown", vocabulary.unk},
      {"padding", vocabulary.pad},
      {"FIM prefix", vocabulary.fim.prefix},
      {"FIM suffix", vocabulary.fim.suffix},
      {"FIM middle", vocabulary.fim.middle},
      {"FIM padding", vocabulary.fim.pad},
      {"FIM repository", vocabulary.fim.repository},
      {"FIM file", vocabulary.fim.file}};
  for (const auto& [name, id] : named) {
    if (id && (*id < 0 || static_cast<std::size_t>(*id) >= size)) {
      return base::error(ErrorCode::corrupt, "the {} token is {}, the vocabulary has {} tokens", name, *id,
                         size);
    }
  }
  return base::ok();
}

// Finds tokens by their spelling in the vocabulary.
class Spellings {
  auto text_of() const {
    return [this](TokenId id) { return std::string_view(tokens_[static_cast<std::size_t>(id)]); };
  }

 public:
  explicit Spellings(const std::vector<std::string>& tokens) : tokens_(tokens), index_(tokens.size()) {}

  Status fill() {
    for (std::size_t id = 0; id < tokens_.size(); ++id) {
      const auto present = index_.insert(tokens_[id], static_cast<TokenId>(id), text_of());
      if (!present) continue;
      return base::error(ErrorCode::corrupt, "token {} (\"{}\") is in the vocabulary twice, first as {}", id,
                         tokens_[id], *present);
    }
    return base::ok();
  }
  std::optional<TokenId> find(std::string_view spelling) const { return index_.find(spelling, text_of()); }

 private:
  const std::vector<std::string>& tokens_;
  StringIndex index_;
};

TokenType type_of(const Vocabulary& vocabulary, std::size_t id) {
  return vocabulary.types.empty() ? TokenType::normal : vocabulary.types[id];
}

// Returns WordPiece's spelling of a token. GGUF marks the tokens that begin a word, while WordPiece marks the
// others. Names such as "[MASK]" are not marked at all.
std::string word_piece_spelling(const std::string& token) {
  if (token.starts_with(kSpaceMark)) return token.substr(kSpaceMark.size());
  const bool named = token.size() > 2 && token.front() == '[' && token.back() == ']';
  return named ? token : "##" + token;
}

// The spelling by which the model finds a token, as in Hugging Face's vocabularies.
struct Spelled {
  std::string spelling;
  TokenType type = TokenType::normal;
};

Result<Spelled> spelled(const Vocabulary& vocabulary, std::size_t id) {
  const std::string& token = vocabulary.tokens[id];
  const TokenType type = type_of(vocabulary, id);
  if (type == TokenType::byte && !byte_of_name(token))
    return base::error(ErrorCode::corrupt, "token {} (\"{}\") is typed as a byte", id, token);
  if (type != TokenType::normal || vocabulary.model == "llama") return Spelled{token, type};
  if (vocabulary.model == "bert") return Spelled{word_piece_spelling(token), type};
  if (auto bytes = bytes_of_spelling(token)) return Spelled{std::move(*bytes), type};
  // The token is not in byte-level characters: its spelling is its text, and no text is encoded with it.
  return Spelled{token, TokenType::user_defined};
}

Decoder make_decoder(const Vocabulary& vocabulary) {
  Decoder decoder;
  if (vocabulary.model == "bert") {
    decoder.add({.kind = DecoderStep::Kind::word_piece, .from = "##"});
    decoder.add({.kind = DecoderStep::Kind::clean_up});
  } else if (vocabulary.model == "llama") {
    decoder.add({.kind = DecoderStep::Kind::replace, .from = std::string(kSpaceMark), .to = " "});
    decoder.add({.kind = DecoderStep::Kind::byte_fallback});
    if (vocabulary.add_space_prefix) decoder.strip_spaces_of_text(1);
  }
  return decoder;
}

Result<std::unique_ptr<const TokenTable>> make_table(const Vocabulary& vocabulary, const Decoder& decoder) {
  auto table = std::make_unique<TokenTable>();
  const bool byte_level = vocabulary.model == "gpt2";
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    TRY(const Spelled token, spelled(vocabulary, id));
    const bool as_it_is = byte_level || (token.type != TokenType::normal && token.type != TokenType::byte);
    TRY_OK(
        table->add({.spelling = token.spelling,
                    .bytes = as_it_is ? token.spelling : decoder.bytes(token.spelling, Decoder::Place::later),
                    .type = token.type}));
  }
  table->build_index();
  return std::unique_ptr<const TokenTable>(std::move(table));
}

AddedTokens make_added(const TokenTable& table) {
  AddedTokens added;
  for (TokenId id = 0; id < table.size(); ++id) {
    const TokenType type = table.type(id);
    if (type != TokenType::control && type != TokenType::user_defined) continue;
    if (table.spelling(id).empty()) continue;
    added.add(table.spelling(id), {.id = id, .special = type == TokenType::control});
  }
  return added;
}

// Reads merges, each of which is "left right". Byte-level spellings contain no space.
Result<MergeTable> byte_level_merges(const Spellings& spellings, const std::vector<std::string>& merges) {
  MergeRanker ranker(merges.size());
  std::string joined;
  for (const std::string& merge : merges) {
    const std::size_t space = merge.find(' ');
    if (space == std::string::npos) {
      return base::error(ErrorCode::corrupt, "merge \"{}\" is not two tokens", merge);
    }
    const std::string_view left = std::string_view(merge).substr(0, space);
    const std::string_view right = std::string_view(merge).substr(space + 1);
    joined.assign(left).append(right);
    TRY_OK(ranker.add({.left = left,
                       .right = right,
                       .left_id = spellings.find(left),
                       .right_id = spellings.find(right),
                       .result_id = spellings.find(joined)}));
  }
  return ranker.take();
}

Status add_byte_level(const Vocabulary& vocabulary, const Spellings& spellings, TokenizerParts& parts) {
  TRY(auto preparation, preparation_named(vocabulary.pre));
  TRY(auto merges, byte_level_merges(spellings, vocabulary.merges));
  parts.normalizer = std::move(preparation.normalizer);
  parts.pre_tokenizer = std::move(preparation.pre_tokenizer);
  parts.model = std::make_unique<Bpe>(
      *parts.table, std::move(merges),
      Bpe::Options{.alphabet = Bpe::Alphabet::bytes, .ignore_merges = preparation.ignore_merges});
  return base::ok();
}

Status add_sentencepiece(const Vocabulary& vocabulary, TokenizerParts& parts) {
  if (vocabulary.scores.size() != vocabulary.tokens.size()) {
    return base::error(ErrorCode::corrupt, "the vocabulary has {} tokens and {} scores",
                       vocabulary.tokens.size(), vocabulary.scores.size());
  }
  if (std::any_of(vocabulary.scores.begin(), vocabulary.scores.end(),
                  [](float s) { return std::isnan(s); })) {
    return base::error(ErrorCode::corrupt, "a token's score is not a number");
  }
  const std::string mark(kSpaceMark);
  if (vocabulary.add_space_prefix)
    parts.normalizer.push_back({.kind = NormalizerStep::Kind::prepend, .to = mark});
  parts.normalizer.push_back({.kind = NormalizerStep::Kind::replace, .from = " ", .to = mark});
  auto model =
      std::make_unique<Bpe>(*parts.table, merges_by_score(*parts.table, vocabulary.scores),
                            Bpe::Options{.alphabet = Bpe::Alphabet::characters, .unk = vocabulary.unk});
  parts.cuts_at_space_marks = model->cuts_at_space_marks();
  parts.model = std::move(model);
  return base::ok();
}

// GGUF does not say how text is prepared for BERT. This does what the uncased models need.
void add_word_piece(const Vocabulary& vocabulary, TokenizerParts& parts) {
  using Kind = NormalizerStep::Kind;
  for (const Kind kind : {Kind::clean, Kind::space_ideographs, Kind::nfd, Kind::strip_marks, Kind::lowercase})
    parts.normalizer.push_back({.kind = kind});
  add_bert_splits(parts.pre_tokenizer);
  WordPiece::Options options;
  options.unk = vocabulary.unk;
  parts.model = std::make_unique<WordPiece>(*parts.table, std::move(options));
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::from_vocabulary(Vocabulary vocabulary) {
  if (vocabulary.model != "gpt2" && vocabulary.model != "llama" && vocabulary.model != "bert") {
    return base::error(ErrorCode::unsupported, "tokenizer model \"{}\" (known: gpt2, llama, bert)",
                       vocabulary.model);
  }
  TRY_OK(check_shape(vocabulary));
  Spellings spellings(vocabulary.tokens);
  TRY_OK(spellings.fill());
  TokenizerParts parts;
  parts.decoder = make_decoder(vocabulary);
  TRY(parts.table, make_table(vocabulary, parts.decoder));
  parts.added = make_added(*parts.table);
  parts.added_in_prompts = parts.added;
  if (vocabulary.model == "gpt2") {
    TRY_OK(add_byte_level(vocabulary, spellings, parts));
  } else if (vocabulary.model == "bert") {
    add_word_piece(vocabulary, parts);
  } else {
    TRY_OK(add_sentencepiece(vocabulary, parts));
  }
  parts.bos = vocabulary.bos;
  parts.eos = vocabulary.eos;
  parts.eot = vocabulary.eot;
  parts.pad = vocabulary.pad;
  parts.named_fim = vocabulary.fim;
  parts.add_bos = vocabulary.add_bos && vocabulary.bos.has_value();
  parts.add_eos = vocabulary.add_eos && vocabulary.eos.has_value();
  if (parts.add_bos) parts.before_text = {*parts.bos};
  if (parts.add_eos) parts.behind_text = {*parts.eos};
  parts.chat_template = std::move(vocabulary.chat_template);
  return std::make_shared<const Tokenizer>(std::move(parts));
}

}  // namespace kvasir::text

#include <algorithm>
#include <limits>
#include <utility>

#include "text/bpe.h"
#include "text/byte_level.h"
#include "text/merge_table.h"
#include "text/string_index.h"
#include "text/tokenizer_json.h"
#include "text/unigram.h"
#include "text/word_piece.h"

namespace kvasir::text {

using base::ErrorCode;
using base::Result;
using base::Status;
namespace json = base::json;

namespace {

constexpr std::int64_t kMaxTokens = 1 << 24;

// One row of `added_tokens`.
struct AddedRow {
  std::string_view content;
  AddedTokens::Entry entry;
  bool normalized = false;
};

Result<TokenId> token_id(const json::value& value, std::string_view of) {
  if (!value.is_int64() || value.get_int64() < 0 || value.get_int64() >= kMaxTokens) {
    return base::error(ErrorCode::corrupt, "tokenizer.json: the id of \"{}\" is not a token number", of);
  }
  return static_cast<TokenId>(value.get_int64());
}

Result<std::vector<AddedRow>> added_rows(const json::object& file) {
  std::vector<AddedRow> rows;
  const auto* list = json_array(file, "added_tokens");
  if (list == nullptr) return rows;
  for (const json::value& item : *list) {
    const auto* object = item.if_object();
    if (object == nullptr)
      return base::error(ErrorCode::corrupt, "tokenizer.json: an added token is no object");
    AddedRow row;
    const json::value* content = object->if_contains("content");
    if (content != nullptr && content->is_string()) row.content = content->get_string();
    if (row.content.empty()) continue;
    const json::value* id = object->if_contains("id");
    row.entry = {.special = json_flag(*object, "special"),
                 .single_word = json_flag(*object, "single_word"),
                 .takes_space_before = json_flag(*object, "lstrip"),
                 .takes_space_after = json_flag(*object, "rstrip")};
    TRY(row.entry.id, token_id(id != nullptr ? *id : json::value(), row.content));
    row.normalized = json_flag_or(*object, "normalized", !row.entry.special);
    rows.push_back(row);
  }
  return rows;
}

// The tokens by id: the model's vocabulary, with the added ones over it; ids that nobody has are unused. What
// it holds points into the file.
class Vocab {
  auto text_of() const {
    return [this](TokenId id) { return tokens_[static_cast<std::size_t>(id)]; };
  }

 public:
  explicit Vocab(std::size_t size) : index_(size) {}

  Status add(std::string_view token, TokenId id) {
    grow_to(id);
    if (types_[id] != TokenType::unused) {
      return base::error(ErrorCode::corrupt, "tokenizer.json: \"{}\" and \"{}\" have the id {}", tokens_[id],
                         token, id);
    }
    tokens_[id] = token;
    types_[id] = TokenType::normal;
    index_.insert(token, id, text_of());
    return base::ok();
  }

  Status add(const AddedRow& row) {
    const TokenId id = row.entry.id;
    grow_to(id);
    if (types_[id] != TokenType::unused && tokens_[id] != row.content) {
      return base::error(ErrorCode::corrupt, "tokenizer.json: the added token \"{}\" has the id of \"{}\"",
                         row.content, tokens_[id]);
    }
    tokens_[id] = row.content;
    types_[id] = row.entry.special ? TokenType::control : TokenType::user_defined;
    return base::ok();
  }

  // Of the model's own.
  std::optional<TokenId> find(std::string_view token) const { return index_.find(token, text_of()); }
  std::size_t size() const { return tokens_.size(); }
  std::string_view token(std::size_t id) const { return tokens_[id]; }
  TokenType& type(std::size_t id) { return types_[id]; }

 private:
  void grow_to(TokenId id) {
    const auto size = static_cast<std::size_t>(id) + 1;
    if (size <= tokens_.size()) return;
    if (size > tokens_.capacity()) tokens_.reserve(std::max(size, tokens_.capacity() * 2));
    tokens_.resize(size);
    types_.resize(size, TokenType::unused);
  }

  std::vector<std::string_view> tokens_;
  std::vector<TokenType> types_;
  StringIndex index_;
};

// Reads the part "model", with the added tokens, which all kinds of models share.
class ModelReader {
 public:
  ModelReader(const json::object& file, const json::object& model, TokenizerParts& parts)
      : file_(file), model_(model), parts_(parts) {}

  Status read_bpe(ByteLevel byte_level);
  Status read_word_piece();
  Status read_unigram();

 private:
  Result<Vocab> read_vocab();
  Status finish_vocab(Vocab& vocab, ByteLevel byte_level);
  Status add_tokens(const std::vector<AddedRow>& rows);
  Result<MergeTable> read_merges(const Vocab& vocab);
  std::optional<TokenId> unk(const Vocab& vocab) {
    const std::string name = json_text(model_, "unk_token");
    return name.empty() ? std::nullopt : vocab.find(name);
  }

  const json::object& file_;
  const json::object& model_;
  TokenizerParts& parts_;
};

Result<Vocab> ModelReader::read_vocab() {
  const auto* object = json_object(model_, "vocab");
  if (object == nullptr) return base::error(ErrorCode::corrupt, "tokenizer.json: the model has no vocab");
  Vocab vocab(object->size());
  for (const auto& entry : *object) {
    TRY(const TokenId id, token_id(entry.value(), entry.key()));
    TRY_OK(vocab.add(entry.key(), id));
  }
  return vocab;
}

// Adds the added tokens, and makes the table.
Status ModelReader::finish_vocab(Vocab& vocab, ByteLevel byte_level) {
  TRY(const auto rows, added_rows(file_));
  for (const AddedRow& row : rows) TRY_OK(vocab.add(row));
  if (vocab.size() == 0) return base::error(ErrorCode::corrupt, "tokenizer.json has no tokens");
  const bool has_bytes = json_flag(model_, "byte_fallback");
  auto table = std::make_unique<TokenTable>();
  table->reserve(vocab.size(), vocab.size() * 8);
  std::optional<std::string> spelled;
  for (std::size_t id = 0; id < vocab.size(); ++id) {
    const std::string_view token = vocab.token(id);
    TokenType type = vocab.type(id);
    if (type == TokenType::normal && has_bytes && byte_of_name(token)) type = TokenType::byte;
    spelled.reset();
    if (type == TokenType::normal && byte_level == ByteLevel::yes) {
      spelled = bytes_of_spelling(token);
      // It stands for itself, and no text is encoded with it.
      if (!spelled) type = TokenType::user_defined;
    }
    const bool is_decoded = byte_level == ByteLevel::yes && spelled;
    TRY_OK(table->add({.spelling = spelled ? *spelled : token,
                       .bytes = is_decoded ? *spelled : parts_.decoder.bytes(token, Decoder::Place::later),
                       .type = type}));
  }
  table->build_index();
  parts_.table = std::move(table);
  return add_tokens(rows);
}

Status ModelReader::add_tokens(const std::vector<AddedRow>& rows) {
  for (const AddedRow& row : rows) {
    parts_.added_in_prompts.add(row.content, row.entry);
    if (!row.normalized) {
      parts_.added.add(row.content, row.entry);
      continue;
    }
    const std::string normal = normalize(row.content, parts_.normalizer);
    if (!normal.empty()) parts_.normalized_added.add(normal, row.entry);
  }
  return base::ok();
}

struct MergeSides {
  std::string_view left;
  std::string_view right;
};

// Merges are "a b" in older files and ["a", "b"] in newer ones.
std::optional<MergeSides> merge_sides(const json::value& merge) {
  if (const auto* text = merge.if_string()) {
    const std::string_view both(*text);
    const std::size_t space = both.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    return MergeSides{both.substr(0, space), both.substr(space + 1)};
  }
  const auto* pair = merge.if_array();
  if (pair == nullptr || pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_string())
    return std::nullopt;
  return MergeSides{(*pair)[0].get_string(), (*pair)[1].get_string()};
}

Result<MergeTable> ModelReader::read_merges(const Vocab& vocab) {
  const auto* merges = json_array(model_, "merges");
  if (merges == nullptr) return base::error(ErrorCode::corrupt, "tokenizer.json: the model has no merges");
  MergeRanker ranker(merges->size());
  std::string joined;
  for (const json::value& merge : *merges) {
    const auto sides = merge_sides(merge);
    if (!sides) {
      return base::error(ErrorCode::corrupt, "tokenizer.json: the merge {} is not two tokens",
                         json::serialize(merge));
    }
    joined.assign(sides->left).append(sides->right);
    TRY_OK(ranker.add({.left = sides->left,
                       .right = sides->right,
                       .left_id = vocab.find(sides->left),
                       .right_id = vocab.find(sides->right),
                       .result_id = vocab.find(joined)}));
  }
  return ranker.take();
}

Status ModelReader::read_bpe(ByteLevel byte_level) {
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!json_text(model_, affix).empty())
      return base::error(ErrorCode::unsupported, "tokenizer.json: a BPE with {}", affix);
  }
  TRY(Vocab vocab, read_vocab());
  TRY(MergeTable merges, read_merges(vocab));
  Bpe::Options options;
  options.alphabet = byte_level == ByteLevel::yes ? Bpe::Alphabet::bytes : Bpe::Alphabet::characters;
  options.ignore_merges = json_flag(model_, "ignore_merges");
  options.fuse_unk = json_flag(model_, "fuse_unk");
  options.unk = unk(vocab);
  TRY_OK(finish_vocab(vocab, byte_level));
  auto bpe = std::make_unique<Bpe>(*parts_.table, std::move(merges), options);
  parts_.cuts_at_space_marks = bpe->cuts_at_space_marks();
  parts_.model = std::move(bpe);
  return base::ok();
}

Status ModelReader::read_word_piece() {
  TRY(Vocab vocab, read_vocab());
  WordPiece::Options options;
  options.unk = unk(vocab);
  if (const std::string prefix = json_text(model_, "continuing_subword_prefix"); !prefix.empty())
    options.continuing_prefix = prefix;
  if (const json::value* most = model_.if_contains("max_input_chars_per_word")) {
    // Matching is quadratic in it.
    if (!most->is_int64() || most->get_int64() < 1 || most->get_int64() > 4096)
      return base::error(ErrorCode::unsupported, "tokenizer.json: max_input_chars_per_word {}",
                         json::serialize(*most));
    options.max_characters = static_cast<int>(most->get_int64());
  }
  TRY_OK(finish_vocab(vocab, ByteLevel::no));
  parts_.model = std::make_unique<WordPiece>(*parts_.table, std::move(options));
  return base::ok();
}

Status ModelReader::read_unigram() {
  const auto* list = json_array(model_, "vocab");
  if (list == nullptr || list->size() >= static_cast<std::size_t>(kMaxTokens))
    return base::error(ErrorCode::corrupt, "tokenizer.json: the model has no vocab");
  Vocab vocab(list->size());
  std::vector<double> scores;
  double lowest = std::numeric_limits<double>::max();
  for (const json::value& item : *list) {
    const auto* pair = item.if_array();
    if (pair == nullptr || pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_number())
      return base::error(ErrorCode::corrupt, "tokenizer.json: {} is not a token with its score",
                         json::serialize(item));
    TRY_OK(vocab.add((*pair)[0].get_string(), static_cast<TokenId>(scores.size())));
    scores.push_back((*pair)[1].to_number<double>());
    lowest = std::min(lowest, scores.back());
  }
  Unigram::Options options;
  constexpr double kUnkPenalty = 10;
  options.unk_score = lowest - kUnkPenalty;
  options.byte_fallback = json_flag(model_, "byte_fallback");
  if (const json::value* id = model_.if_contains("unk_id"); id != nullptr && !id->is_null()) {
    TRY(const TokenId number, token_id(*id, "unk_id"));
    if (static_cast<std::size_t>(number) >= scores.size())
      return base::error(ErrorCode::corrupt, "tokenizer.json: the unknown token {} is none", number);
    options.unk = number;
  }
  TRY_OK(finish_vocab(vocab, ByteLevel::no));
  scores.resize(static_cast<std::size_t>(parts_.table->size()), lowest);
  parts_.model = std::make_unique<Unigram>(*parts_.table, std::move(scores), options);
  return base::ok();
}

}  // namespace

Status read_model(const json::object& file, ByteLevel byte_level, TokenizerParts& parts) {
  const auto* model = json_object(file, "model");
  if (model == nullptr) return base::error(ErrorCode::corrupt, "tokenizer.json has no model");
  std::string type = json_text(*model, "type");
  // Older files leave the type to be seen.
  if (type.empty()) {
    if (model->contains("merges")) type = "BPE";
    if (model->contains("unk_id")) type = "Unigram";
    if (model->contains("max_input_chars_per_word")) type = "WordPiece";
  }
  ModelReader reader(file, *model, parts);
  if (type == "BPE") return reader.read_bpe(byte_level);
  if (type == "WordPiece") return reader.read_word_piece();
  if (type == "Unigram") return reader.read_unigram();
  return base::error(ErrorCode::unsupported,
                     "tokenizer.json: model type \"{}\" (known: BPE, Unigram, WordPiece)", type);
}

}  // namespace kvasir::text

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "text/tokenizer/byte_level.h"
#include "text/tokenizer/model_tables.h"
#include "text/tokenizer/string_index.h"

namespace kvasir::text {

using base::ErrorCode;
using base::Result;
using base::Status;
namespace json = base::json;

namespace {

constexpr std::int64_t kMaxTokens = 1 << 22;
constexpr std::size_t kMaxGap = 1 << 18;  // unused ids that are always allowed

// The tokens by id: the model's vocabulary, overridden by the added tokens. Ids without a token are unused.
// The texts of the tokens point into the file.
class Vocab {
  auto text_of() const {
    return [this](TokenId id) { return tokens_[static_cast<std::size_t>(id)]; };
  }

 public:
  // `size` is the number of the model's own tokens.
  explicit Vocab(std::size_t size)
      : max_tokens_(std::min<std::size_t>(kMaxTokens, size * 8 + kMaxGap)), index_(size) {
    tokens_.reserve(size);
    types_.reserve(size);
  }

  Status add(std::string_view token, TokenId id) {
    TRY_OK(grow_to(id));
    if (types_[id] != TokenType::unused) {
      return base::error(ErrorCode::corrupt, "tokenizer.json: \"{}\" and \"{}\" have the id {}", tokens_[id],
                         token, id);
    }
    tokens_[id] = token;
    types_[id] = TokenType::normal;
    if (const auto other = index_.insert(token, id, text_of())) {
      return base::error(ErrorCode::corrupt, "tokenizer.json: \"{}\" has the ids {} and {}", token, *other,
                         id);
    }
    return base::ok();
  }

  Status add(const AddedRow& row) {
    const TokenId id = row.entry.id;
    TRY_OK(grow_to(id));
    if (types_[id] != TokenType::unused && tokens_[id] != row.content) {
      return base::error(ErrorCode::corrupt, "tokenizer.json: the added token \"{}\" has the id of \"{}\"",
                         row.content, tokens_[id]);
    }
    tokens_[id] = row.content;
    types_[id] = row.entry.special ? TokenType::control : TokenType::user_defined;
    return base::ok();
  }

  // Finds a token of the model. Never finds an added token.
  std::optional<TokenId> find(std::string_view token) const { return index_.find(token, text_of()); }
  std::uint64_t prepare(std::string_view token) const { return index_.prepare(token); }
  std::optional<TokenId> find(std::uint64_t prepared, std::string_view token) const {
    return index_.find(prepared, token, text_of());
  }
  std::size_t size() const { return tokens_.size(); }
  std::string_view token(std::size_t id) const { return tokens_[id]; }
  TokenType type(std::size_t id) const { return types_[id]; }

 private:
  Status grow_to(TokenId id) {
    const auto size = static_cast<std::size_t>(id) + 1;
    if (size <= tokens_.size()) return base::ok();
    if (size > max_tokens_)
      return base::error(ErrorCode::corrupt, "tokenizer.json: the id {} is far above the number of tokens",
                         id);
    if (size > tokens_.capacity()) tokens_.reserve(std::max(size, tokens_.capacity() * 2));
    tokens_.resize(size);
    types_.resize(size, TokenType::unused);
    return base::ok();
  }

  std::size_t max_tokens_;
  std::vector<std::string_view> tokens_;
  std::vector<TokenType> types_;
  StringIndex index_;
};

struct MergeSides {
  std::string_view left;
  std::string_view right;
};

// Reads a merge, which is "a b" in older files and ["a", "b"] in newer ones.
std::optional<MergeSides> merge_sides(const SourceRows& merges, const SourceRows::Row& row) {
  if (row.is_other || row.num_numbers > 0) return std::nullopt;
  if (row.is_list) {
    if (row.num_texts != 2) return std::nullopt;
    return MergeSides{merges.first(row), merges.second(row)};
  }
  if (row.num_texts != 1) return std::nullopt;
  const std::string_view both = merges.first(row);
  const std::size_t space = both.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  return MergeSides{both.substr(0, space), both.substr(space + 1)};
}

// Finds the token that a merge makes. Files list merges in the order of these tokens, so it is usually the
// token of the last merge or the next token. Checking these two is much cheaper than a search.
class ResultFinder {
 public:
  explicit ResultFinder(const Vocab& vocab) : vocab_(vocab) {}

  std::optional<TokenId> find(const MergeSides& sides) {
    for (const std::size_t guess : {last_ + 1, last_}) {
      if (guess < vocab_.size() && vocab_.type(guess) == TokenType::normal &&
          is(vocab_.token(guess), sides)) {
        last_ = guess;
        return static_cast<TokenId>(guess);
      }
    }
    joined_.assign(sides.left).append(sides.right);
    const auto found = vocab_.find(joined_);
    if (found) last_ = static_cast<std::size_t>(*found);
    return found;
  }

 private:
  static bool is(std::string_view token, const MergeSides& sides) {
    return token.size() == sides.left.size() + sides.right.size() && token.starts_with(sides.left) &&
           token.ends_with(sides.right);
  }

  const Vocab& vocab_;
  std::size_t last_ = 0;
  std::string joined_;
};

// Reads the member "model" and the added tokens. All kinds of models share this class.
class TableMaker {
 public:
  TableMaker(const TokenizerSource& source, const json::object& model, const Decoder& decoder)
      : source_(source), model_(model), decoder_(decoder) {}

  Result<ModelTables> make_bpe(ByteLevel byte_level);
  Result<ModelTables> make_word_piece();
  Result<ModelTables> make_unigram();

 private:
  Result<Vocab> read_vocab();
  Result<std::unique_ptr<const TokenTable>> finish(Vocab& vocab, ByteLevel byte_level);
  Result<MergeTable> read_merges(const Vocab& vocab);
  std::optional<TokenId> unk(const Vocab& vocab) {
    const std::string name = json_text(model_, "unk_token");
    return name.empty() ? std::nullopt : vocab.find(name);
  }

  const TokenizerSource& source_;
  const json::object& model_;
  const Decoder& decoder_;
};

Result<Vocab> TableMaker::read_vocab() {
  const SourceRows& members = source_.vocab;
  if (!members.is_object()) return base::error(ErrorCode::corrupt, "tokenizer.json: the model has no vocab");
  Vocab vocab(members.rows().size());
  for (const SourceRows::Row& row : members.rows()) {
    const bool is_id = row.num_texts == 1 && row.num_numbers == 1 && row.is_integer && !row.is_list &&
                       !row.is_other && row.number >= 0 && row.number < kMaxTokens;
    if (!is_id) {
      return base::error(ErrorCode::corrupt, "tokenizer.json: the id of \"{}\" is not a token number",
                         members.first(row));
    }
    TRY_OK(vocab.add(members.first(row), static_cast<TokenId>(row.number)));
  }
  return vocab;
}

// Adds the added tokens to `vocab` and builds the table.
Result<std::unique_ptr<const TokenTable>> TableMaker::finish(Vocab& vocab, ByteLevel byte_level) {
  TRY(const auto rows, added_rows(source_.rest));
  for (const AddedRow& row : rows) TRY_OK(vocab.add(row));
  if (vocab.size() == 0) return base::error(ErrorCode::corrupt, "tokenizer.json has no tokens");
  const bool has_bytes = json_flag(model_, "byte_fallback");
  auto table = std::make_unique<TokenTable>();
  table->reserve(vocab.size(), vocab.size() * 8);
  std::string spelled;
  for (std::size_t id = 0; id < vocab.size(); ++id) {
    const std::string_view token = vocab.token(id);
    TokenType type = vocab.type(id);
    if (type == TokenType::normal && has_bytes && byte_of_name(token)) type = TokenType::byte;
    spelled.clear();
    const bool is_spelled =
        type == TokenType::normal && byte_level == ByteLevel::yes && append_bytes_of_spelling(token, spelled);
    // The token is not in byte-level characters: its spelling is its text, and no text is encoded with it.
    if (type == TokenType::normal && byte_level == ByteLevel::yes && !is_spelled)
      type = TokenType::user_defined;
    if (is_spelled) {
      TRY_OK(table->add({.spelling = spelled, .bytes = spelled, .type = type}));
    } else {
      spelled = decoder_.bytes(token, Decoder::Place::later);
      TRY_OK(table->add({.spelling = token, .bytes = spelled, .type = type}));
    }
  }
  table->build_index();
  return std::unique_ptr<const TokenTable>(std::move(table));
}

Result<MergeTable> TableMaker::read_merges(const Vocab& vocab) {
  const SourceRows& merges = source_.merges;
  if (!merges.is_array()) return base::error(ErrorCode::corrupt, "tokenizer.json: the model has no merges");
  // The tables are larger than the caches. Several merges are processed together, step by step, so that the
  // memory for one merge is fetched while the others are processed.
  constexpr std::size_t kAtOnce = 16;
  struct Pending {
    MergeSides sides;
    std::uint64_t left = 0;
    std::uint64_t right = 0;
    MergeRanker::Sides found;
  };
  std::array<Pending, kAtOnce> pending;
  MergeRanker ranker(merges.rows().size());
  ResultFinder results(vocab);
  for (std::size_t begin = 0; begin < merges.rows().size(); begin += kAtOnce) {
    const std::size_t size = std::min(kAtOnce, merges.rows().size() - begin);
    for (std::size_t i = 0; i < size; ++i) {
      const SourceRows::Row& row = merges.rows()[begin + i];
      const auto sides = merge_sides(merges, row);
      if (!sides) {
        return base::error(ErrorCode::corrupt, "tokenizer.json: the merge {} (\"{}\") is not two tokens",
                           begin + i, merges.first(row));
      }
      pending[i] = {*sides, vocab.prepare(sides->left), vocab.prepare(sides->right), {}};
    }
    for (Pending& merge : std::span(pending).first(size)) {
      merge.found = {.left = merge.sides.left,
                     .right = merge.sides.right,
                     .left_id = vocab.find(merge.left, merge.sides.left),
                     .right_id = vocab.find(merge.right, merge.sides.right),
                     .result_id = results.find(merge.sides)};
      ranker.prepare(merge.found);
    }
    for (const Pending& merge : std::span(pending).first(size)) TRY_OK(ranker.add(merge.found));
  }
  return ranker.take();
}

Result<ModelTables> TableMaker::make_bpe(ByteLevel byte_level) {
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!json_text(model_, affix).empty())
      return base::error(ErrorCode::unsupported, "tokenizer.json: a BPE with {}", affix);
  }
  ModelTables tables;
  TRY(Vocab vocab, read_vocab());
  TRY(tables.merges, read_merges(vocab));
  tables.unk = unk(vocab);
  TRY(tables.table, finish(vocab, byte_level));
  return tables;
}

Result<ModelTables> TableMaker::make_word_piece() {
  ModelTables tables;
  TRY(Vocab vocab, read_vocab());
  tables.unk = unk(vocab);
  TRY(tables.table, finish(vocab, ByteLevel::no));
  return tables;
}

Result<ModelTables> TableMaker::make_unigram() {
  const SourceRows& list = source_.vocab;
  if (!list.is_array() || list.rows().size() >= static_cast<std::size_t>(kMaxTokens))
    return base::error(ErrorCode::corrupt, "tokenizer.json: the model has no vocab");
  Vocab vocab(list.rows().size());
  std::vector<double> scores;
  double lowest = std::numeric_limits<double>::max();
  for (const SourceRows::Row& row : list.rows()) {
    if (!row.is_list || row.is_other || row.num_texts != 1 || row.num_numbers != 1)
      return base::error(ErrorCode::corrupt, "tokenizer.json: {} (\"{}\") is not a token with its score",
                         scores.size(), list.first(row));
    TRY_OK(vocab.add(list.first(row), static_cast<TokenId>(scores.size())));
    scores.push_back(row.number);
    lowest = std::min(lowest, row.number);
  }
  ModelTables tables;
  constexpr double kUnkPenalty = 10;
  tables.unk_score = lowest - kUnkPenalty;
  if (const json::value* id = model_.if_contains("unk_id"); id != nullptr && !id->is_null()) {
    const std::int64_t* number = id->if_int64();
    if (number == nullptr || *number < 0 || static_cast<std::size_t>(*number) >= scores.size())
      return base::error(ErrorCode::corrupt, "tokenizer.json: the unknown token {} is none",
                         json::serialize(*id));
    tables.unk = static_cast<TokenId>(*number);
  }
  TRY(tables.table, finish(vocab, ByteLevel::no));
  scores.resize(static_cast<std::size_t>(tables.table->size()), lowest);
  tables.trie = ScoredTrie::build(*tables.table, std::move(scores));
  return tables;
}

}  // namespace

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
    if (id == nullptr || !id->is_int64() || id->get_int64() < 0 || id->get_int64() >= kMaxTokens) {
      return base::error(ErrorCode::corrupt, "tokenizer.json: the id of \"{}\" is not a token number",
                         row.content);
    }
    row.entry = {.id = static_cast<TokenId>(id->get_int64()),
                 .special = json_flag(*object, "special"),
                 .single_word = json_flag(*object, "single_word"),
                 .takes_space_before = json_flag(*object, "lstrip"),
                 .takes_space_after = json_flag(*object, "rstrip")};
    row.normalized = json_flag_or(*object, "normalized", !row.entry.special);
    rows.push_back(row);
  }
  return rows;
}

Result<ModelTables> make_tables(const TokenizerSource& source, ByteLevel byte_level, const Decoder& decoder) {
  const auto* model = json_object(source.rest, "model");
  if (model == nullptr) return base::error(ErrorCode::corrupt, "tokenizer.json has no model");
  TRY(const ModelKind kind, model_kind(*model));
  TableMaker maker(source, *model, decoder);
  if (kind == ModelKind::bpe) return maker.make_bpe(byte_level);
  return kind == ModelKind::unigram ? maker.make_unigram() : maker.make_word_piece();
}

}  // namespace kvasir::text

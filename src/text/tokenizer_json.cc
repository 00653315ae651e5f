#include "text/tokenizer_json.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/json.h"
#include "text/byte_level.h"
#include "text/tokenizer.h"
#include "text/tokenizer_parts.h"

namespace kvasir::text {
namespace {

using base::ErrorCode;
using base::Result;
using base::Status;
namespace json = base::json;

constexpr std::int64_t kMaxTokens = 1 << 24;

// One row of `added_tokens`.
struct AddedRow {
  TokenId id = 0;
  std::string content;
  AddedTokens::Entry entry;
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
    row.content = json_text(*object, "content");
    if (row.content.empty()) continue;
    const json::value* id = object->if_contains("id");
    TRY(row.id, token_id(id != nullptr ? *id : json::value(), row.content));
    row.entry = {.id = row.id,
                 .special = json_flag(*object, "special"),
                 .takes_space_before = json_flag(*object, "lstrip"),
                 .takes_space_after = json_flag(*object, "rstrip")};
    rows.push_back(std::move(row));
  }
  return rows;
}

struct Tokens {
  std::unique_ptr<const TokenTable> table;
  AddedTokens added;
};

// The tokens by id: the model's vocabulary, with the added ones over it; ids that nobody has are unused.
class TokenCollector {
 public:
  Status add_vocabulary(const json::object& vocabulary) {
    for (const auto& entry : vocabulary) {
      TRY(const TokenId id, token_id(entry.value(), entry.key()));
      grow_to(id);
      if (taken_[id]) {
        return base::error(ErrorCode::corrupt, "tokenizer.json: \"{}\" and \"{}\" have the id {}",
                           tokens_[id], std::string_view(entry.key()), id);
      }
      taken_[id] = true;
      tokens_[id] = entry.key();
      types_[id] = TokenType::normal;
    }
    return base::ok();
  }

  Status add_row(const AddedRow& row) {
    grow_to(row.id);
    if (taken_[row.id] && tokens_[row.id] != row.content) {
      return base::error(ErrorCode::corrupt, "tokenizer.json: the added token \"{}\" has the id of \"{}\"",
                         row.content, tokens_[row.id]);
    }
    taken_[row.id] = true;
    tokens_[row.id] = row.content;
    types_[row.id] = row.entry.special ? TokenType::control : TokenType::user_defined;
    added_.add(row.content, row.entry);
    return base::ok();
  }

  // How the vocabulary spells the bytes of a normal token.
  enum class Spelling { byte_level, plain };

  Result<Tokens> finish(Spelling spelling) {
    if (tokens_.empty()) return base::error(ErrorCode::corrupt, "tokenizer.json has no tokens");
    auto table = std::make_unique<TokenTable>();
    for (std::size_t id = 0; id < tokens_.size(); ++id) {
      // A normal token that is not spelled in byte-level characters stands for itself.
      const bool spelled = types_[id] == TokenType::normal && spelling == Spelling::byte_level;
      TRY_OK(table->add(spelled ? bytes_of_spelling(tokens_[id]).value_or(tokens_[id]) : tokens_[id],
                        types_[id]));
    }
    table->build_index();
    return Tokens{std::move(table), std::move(added_)};
  }

 private:
  void grow_to(TokenId id) {
    const auto size = static_cast<std::size_t>(id) + 1;
    if (size <= tokens_.size()) return;
    tokens_.resize(size);
    taken_.resize(size, false);
    types_.resize(size, TokenType::unused);
  }

  std::vector<std::string> tokens_;
  std::vector<TokenType> types_;
  std::vector<bool> taken_;
  AddedTokens added_;
};

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

Result<MergeTable> read_merges(const json::object& vocabulary, const json::array& merges) {
  const auto find = [&vocabulary](std::string_view spelling) -> std::optional<TokenId> {
    const json::value* id = vocabulary.if_contains(spelling);
    if (id == nullptr) return std::nullopt;
    return static_cast<TokenId>(id->get_int64());
  };
  MergeRanker ranker(merges.size());
  std::string joined;
  for (const json::value& merge : merges) {
    const auto sides = merge_sides(merge);
    if (!sides) {
      return base::error(ErrorCode::corrupt, "tokenizer.json: the merge {} is not two tokens",
                         json::serialize(merge));
    }
    joined.assign(sides->left).append(sides->right);
    TRY_OK(ranker.add({find(sides->left), find(sides->right), find(joined)},
                      fmt::format("{} {}", sides->left, sides->right)));
  }
  return ranker.take();
}

Status check_bpe(const json::object& model) {
  const std::string type = json_text(model, "type");
  if (type != "BPE" && !(type.empty() && model.contains("merges"))) {
    return base::error(ErrorCode::unsupported, "tokenizer.json: model type \"{}\" (known: BPE, WordPiece)",
                       type);
  }
  if (json_flag(model, "byte_fallback")) {
    return base::error(ErrorCode::unsupported,
                       "tokenizer.json: BPE with byte_fallback (known: byte-level BPE)");
  }
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!json_text(model, affix).empty()) {
      return base::error(ErrorCode::unsupported, "tokenizer.json: a model with {}", affix);
    }
  }
  return base::ok();
}

Result<Tokens> read_tokens(const json::object& file, const json::object& vocabulary,
                           TokenCollector::Spelling spelling) {
  TokenCollector collector;
  TRY_OK(collector.add_vocabulary(vocabulary));
  TRY(const auto rows, added_rows(file));
  for (const AddedRow& row : rows) TRY_OK(collector.add_row(row));
  return collector.finish(spelling);
}

Status add_word_piece(const json::object& file, const json::object& model, const json::object& vocabulary,
                      TokenizerParts& parts) {
  TRY(Tokens tokens, read_tokens(file, vocabulary, TokenCollector::Spelling::plain));
  parts.table = std::move(tokens.table);
  parts.added = std::move(tokens.added);
  WordPiece::Options options;
  const std::string unk = json_text(model, "unk_token");
  options.unk = parts.table->find_added(unk);
  if (!options.unk) options.unk = parts.table->find_piece(unk);
  if (const std::string prefix = json_text(model, "continuing_subword_prefix"); !prefix.empty())
    options.continuing_prefix = prefix;
  if (const json::value* most = model.if_contains("max_input_chars_per_word")) {
    // Matching is quadratic in it.
    if (!most->is_int64() || most->get_int64() < 1 || most->get_int64() > 4096)
      return base::error(ErrorCode::unsupported, "tokenizer.json: max_input_chars_per_word {}",
                         json::serialize(*most));
    options.max_characters = static_cast<int>(most->get_int64());
  }
  parts.word_piece = std::make_unique<WordPiece>(*parts.table, std::move(options));
  return base::ok();
}

Status add_bpe(const json::object& file, const json::object& model, const json::object& vocabulary,
               TokenizerParts& parts) {
  const auto* merges = json_array(model, "merges");
  if (merges == nullptr) return base::error(ErrorCode::corrupt, "tokenizer.json: the model has no merges");
  TRY(Tokens tokens, read_tokens(file, vocabulary, TokenCollector::Spelling::byte_level));
  TRY(auto ranked, read_merges(vocabulary, *merges));
  parts.table = std::move(tokens.table);
  parts.added = std::move(tokens.added);
  parts.model = std::make_unique<Bpe>(
      *parts.table, std::move(ranked),
      Bpe::Options{.alphabet = Bpe::Alphabet::bytes, .ignore_merges = json_flag(model, "ignore_merges")});
  return base::ok();
}

Status add_model(const json::object& file, TokenizerParts& parts) {
  const auto* model = json_object(file, "model");
  if (model == nullptr) return base::error(ErrorCode::corrupt, "tokenizer.json has no model");
  const std::string type = json_text(*model, "type");
  if (type != "WordPiece") TRY_OK(check_bpe(*model));
  const auto* vocabulary = json_object(*model, "vocab");
  if (vocabulary == nullptr) return base::error(ErrorCode::corrupt, "tokenizer.json: the model has no vocab");
  return type == "WordPiece" ? add_word_piece(file, *model, *vocabulary, parts)
                             : add_bpe(file, *model, *vocabulary, parts);
}

// A token in tokenizer_config.json is its text, or an object that holds it.
std::optional<TokenId> configured_token(const json::object& config, std::string_view key,
                                        const TokenTable& table) {
  std::string text = json_text(config, key);
  if (const auto* object = json_object(config, key)) text = json_text(*object, "content");
  return text.empty() ? std::nullopt : table.find_added(text);
}

std::string configured_template(const json::object& config) {
  const auto* list = json_array(config, "chat_template");
  if (list == nullptr) return json_text(config, "chat_template");
  for (const json::value& item : *list) {
    const auto* object = item.if_object();
    if (object != nullptr && json_text(*object, "name") == "default") return json_text(*object, "template");
  }
  return {};
}

Status add_config(std::string_view config_json, TokenizerParts& parts) {
  if (config_json.empty()) return base::ok();
  TRY(const json::value value, base::parse_json(config_json));
  const auto* config = value.if_object();
  if (config == nullptr) return base::error(ErrorCode::corrupt, "tokenizer_config.json is not an object");
  if (const auto bos = configured_token(*config, "bos_token", *parts.table)) parts.bos = bos;
  if (const auto eos = configured_token(*config, "eos_token", *parts.table)) parts.eos = eos;
  parts.pad = configured_token(*config, "pad_token", *parts.table);
  if (const auto* add = config->if_contains("add_bos_token"); add != nullptr && add->is_bool()) {
    parts.add_bos = add->get_bool() && parts.bos.has_value();
  }
  parts.chat_template = configured_template(*config);
  return base::ok();
}

}  // namespace

Result<std::shared_ptr<const Tokenizer>> Tokenizer::from_json(std::string_view tokenizer_json,
                                                              std::string_view config_json) {
  auto value = base::parse_json(tokenizer_json);
  if (!value.ok()) return base::error(ErrorCode::corrupt, "tokenizer.json: {}", value.error().message);
  const auto* file = value->if_object();
  if (file == nullptr) return base::error(ErrorCode::corrupt, "tokenizer.json is not an object");
  TokenizerParts parts;
  TRY_OK(add_model(*file, parts));
  TRY_OK(add_preparation(*file, parts));
  TRY_OK(add_config(config_json, parts));
  return std::make_shared<const Tokenizer>(std::move(parts));
}

}  // namespace kvasir::text

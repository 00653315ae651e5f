#include <utility>

#include "text/tokenizer/bpe.h"
#include "text/tokenizer/model_tables.h"
#include "text/tokenizer/tokenizer_json.h"
#include "text/tokenizer/unigram.h"
#include "text/tokenizer/word_piece.h"

namespace kvasir::text {

using base::ErrorCode;
using base::Result;
using base::Status;
namespace json = base::json;

namespace {

Status add_tokens(const json::object& file, TokenizerParts& parts) {
  TRY(const auto rows, added_rows(file));
  for (const AddedRow& row : rows) {
    // The tables may come from the image of another file.
    if (row.entry.id >= parts.table->size())
      return base::error(ErrorCode::corrupt, "the table has no token {}", row.entry.id);
    parts.added_in_prompts.add(row.content, row.entry);
    if (!row.normalized) {
      parts.added.add(row.content, row.entry);
      continue;
    }
    const std::string normal = normalize(row.content, parts.normalizer);
    if (!normal.empty()) parts.normalized_added.add(normal, row.entry);
  }
  return base::ok();
}

Status add_bpe(const json::object& model, ByteLevel byte_level, ModelTables& tables, TokenizerParts& parts) {
  if (!tables.merges) return base::error(ErrorCode::corrupt, "there is no table of merges");
  Bpe::Options options;
  options.alphabet = byte_level == ByteLevel::yes ? Bpe::Alphabet::bytes : Bpe::Alphabet::characters;
  options.ignore_merges = json_flag(model, "ignore_merges");
  options.fuse_unk = json_flag(model, "fuse_unk");
  options.unk = tables.unk;
  auto bpe = std::make_unique<Bpe>(*parts.table, std::move(*tables.merges), options);
  parts.cuts_at_space_marks = bpe->cuts_at_space_marks();
  parts.model = std::move(bpe);
  return base::ok();
}

Status add_word_piece(const json::object& model, const ModelTables& tables, TokenizerParts& parts) {
  WordPiece::Options options;
  options.unk = tables.unk;
  if (const std::string prefix = json_text(model, "continuing_subword_prefix"); !prefix.empty())
    options.continuing_prefix = prefix;
  if (const json::value* most = model.if_contains("max_input_chars_per_word")) {
    // The time for matching is quadratic in this number.
    if (!most->is_int64() || most->get_int64() < 1 || most->get_int64() > 4096)
      return base::error(ErrorCode::unsupported, "tokenizer.json: max_input_chars_per_word {}",
                         json::serialize(*most));
    options.max_characters = static_cast<int>(most->get_int64());
  }
  parts.model = std::make_unique<WordPiece>(*parts.table, std::move(options));
  return base::ok();
}

Status add_unigram(const json::object& model, ModelTables& tables, TokenizerParts& parts) {
  if (!tables.trie) return base::error(ErrorCode::corrupt, "there is no trie of tokens");
  Unigram::Options options;
  options.unk = tables.unk;
  options.unk_score = tables.unk_score;
  options.byte_fallback = json_flag(model, "byte_fallback");
  parts.model = std::make_unique<Unigram>(*parts.table, std::move(*tables.trie), options);
  return base::ok();
}

}  // namespace

Result<ModelKind> model_kind(const json::object& model) {
  std::string type = json_text(model, "type");
  // Older files do not have the type.
  if (type.empty()) {
    if (model.contains("merges")) type = "BPE";
    if (model.contains("unk_id")) type = "Unigram";
    if (model.contains("max_input_chars_per_word")) type = "WordPiece";
  }
  if (type == "BPE") return ModelKind::bpe;
  if (type == "WordPiece") return ModelKind::word_piece;
  if (type == "Unigram") return ModelKind::unigram;
  return base::error(ErrorCode::unsupported,
                     "tokenizer.json: model type \"{}\" (known: BPE, Unigram, WordPiece)", type);
}

Status add_model(const json::object& file, ByteLevel byte_level, ModelTables tables, TokenizerParts& parts) {
  const auto* model = json_object(file, "model");
  if (model == nullptr) return base::error(ErrorCode::corrupt, "tokenizer.json has no model");
  TRY(const ModelKind kind, model_kind(*model));
  parts.table = std::move(tables.table);
  TRY_OK(add_tokens(file, parts));
  if (kind == ModelKind::bpe) return add_bpe(*model, byte_level, tables, parts);
  return kind == ModelKind::unigram ? add_unigram(*model, tables, parts)
                                    : add_word_piece(*model, tables, parts);
}

}  // namespace kvasir::text

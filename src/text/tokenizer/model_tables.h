#pragma once

#include <memory>
#include <optional>

#include "base/ids.h"
#include "base/json.h"
#include "base/result.h"
#include "text/tokenizer/decoder.h"
#include "text/tokenizer/merge_table.h"
#include "text/tokenizer/token_table.h"
#include "text/tokenizer/tokenizer_json.h"
#include "text/tokenizer/tokenizer_source.h"
#include "text/tokenizer/unigram.h"

namespace kvasir::text {

// The tables of a tokenizer, which take long to build. They come from the tokenizer's file, or from an image
// that an earlier load has made.
struct ModelTables {
  std::unique_ptr<const TokenTable> table;
  std::optional<MergeTable> merges;  // for a BPE
  std::optional<ScoredTrie> trie;    // for a Unigram
  double unk_score = 0;              // for a Unigram
  std::optional<TokenId> unk;
};

enum class ModelKind { bpe, word_piece, unigram };
// Returns the kind of a model. Fails with `unsupported` if Kvasir does not support it.
base::Result<ModelKind> model_kind(const base::json::object& model);

base::Result<ModelTables> make_tables(const TokenizerSource& source, ByteLevel byte_level,
                                      const Decoder& decoder);

// One row of `added_tokens`.
struct AddedRow {
  std::string_view content;
  AddedTokens::Entry entry;
  bool normalized = false;
};
// Reads the rows. Their texts point into `file`.
base::Result<std::vector<AddedRow>> added_rows(const base::json::object& file);

}  // namespace kvasir::text

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "text/tokenizer/fim_tokens.h"

namespace kvasir::text {

// The values of GGUF's `tokenizer.ggml.token_type`.
enum class TokenType : std::uint8_t {
  normal = 1,
  unknown = 2,
  control = 3,       // a special token; never recognised in a client's text
  user_defined = 4,  // an added token that is ordinary text; always recognised
  unused = 5,
  byte = 6,  // "<0xNN>"
};

// A model's vocabulary as GGUF stores it. The file's reader fills it, and Tokenizer checks it.
struct Vocabulary {
  std::string model;                // "gpt2": byte-level BPE; "llama": sentencepiece BPE; "bert": WordPiece
  std::string pre;                  // names the split and the normalization: "qwen2", "smollm", …
  std::vector<std::string> tokens;  // by id; byte-level tokens in GPT-2's printable spelling
  std::vector<TokenType> types;     // [tokens], or empty: all normal
  std::vector<std::string> merges;  // "left right", most frequent first
  std::vector<float> scores;        // [tokens] for "llama"
  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
  std::optional<TokenId> eot;
  std::optional<TokenId> unk;
  std::optional<TokenId> pad;
  FimIds fim;
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = true;  // "llama" only
  std::string chat_template;     // Jinja; empty if the file has none
};

}  // namespace kvasir::text

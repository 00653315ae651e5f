#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "text/tokenizer/fim_tokens.h"
#include "text/tokenizer/prompt.h"
#include "text/tokenizer/vocabulary.h"

namespace kvasir::text {

struct TokenizerParts;
class WorkspacePool;

// How to treat text that spells a special token such as <|im_start|>.
enum class Specials {
  as_text,  // as ordinary text, for text from a client
  parse,    // as the token
};

enum class SpecialOutput { skip, keep };

// Converts text to tokens and back for one model. Immutable, so any thread may use it. Encoding never adds a
// beginning-of-text token: a chat template writes its own, and a plain completion begins with bos() if
// add_bos() is true. Bytes that are not UTF-8 become byte tokens if the model has them.
class Tokenizer {
 public:
  // From a GGUF's vocabulary.
  static base::Result<std::shared_ptr<const Tokenizer>> from_vocabulary(Vocabulary vocabulary);
  // From Hugging Face's tokenizer.json. tokenizer_config.json (may be empty) gives the names of the beginning
  // and end tokens and the chat template. `chat_template`, if not empty, is used instead of that template.
  static base::Result<std::shared_ptr<const Tokenizer>> from_json(std::string_view tokenizer_json,
                                                                  std::string_view config_json = {},
                                                                  std::string_view chat_template = {});

  explicit Tokenizer(TokenizerParts parts);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Ends early, with meaningless tokens, once `stop` is requested.
  std::vector<TokenId> encode(std::string_view text, Specials specials,
                              const std::stop_token& stop = {}) const;
  // Special tokens are recognised only if none of their bytes came from the request. The same holds for other
  // added tokens with which the chat template marks its parts, such as <tool_call>, and for those of `fim()`.
  std::vector<TokenId> encode(const Prompt& prompt, const std::stop_token& stop = {}) const;
  // Puts the tokens around `tokens` that the model's post-processor adds to a whole text.
  std::vector<TokenId> with_ends(std::vector<TokenId> tokens) const;
  std::string decode(std::span<const TokenId> tokens, SpecialOutput specials = SpecialOutput::skip) const;

  // The token's bytes when it follows other tokens. They need not be whole UTF-8 characters. Requires
  // `valid(id)`.
  std::string_view bytes(TokenId id) const;
  // The token's bytes at the beginning of a text. Requires `valid(id)`.
  std::string first_bytes(TokenId id) const;
  int size() const;
  // Size of the longest token; at least 1.
  std::size_t max_token_bytes() const;
  bool valid(TokenId id) const { return id >= 0 && id < size(); }
  // Control, unknown and unused tokens, which decoding skips. Requires `valid(id)`.
  bool is_special(TokenId id) const;
  // The token with exactly these bytes.
  std::optional<TokenId> find(std::string_view bytes) const;

  std::optional<TokenId> bos() const;
  std::optional<TokenId> eos() const;
  std::optional<TokenId> pad() const;
  bool add_bos() const;
  // Whether the model wants eos() after a text that it reads as a whole, as encoders do.
  bool add_eos() const;
  // Every token that ends a generation, ascending.
  std::span<const TokenId> end_tokens() const;
  // Absent: the model cannot fill in the middle of a text.
  const std::optional<FimTokens>& fim() const;
  // The model's own Jinja template; empty if it has none.
  const std::string& chat_template() const;
  // How many spaces decoding drops from a text's beginning, because encoding adds them.
  int leading_spaces() const;

 private:
  std::unique_ptr<const TokenizerParts> parts_;
  std::unique_ptr<WorkspacePool> pool_;
};

}  // namespace kvasir::text

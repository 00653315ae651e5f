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
  // Makes the tokenizer of a GGUF's vocabulary.
  static base::Result<std::shared_ptr<const Tokenizer>> from_vocabulary(Vocabulary vocabulary);
  // Makes the tokenizer of Hugging Face's tokenizer.json. tokenizer_config.json, which may be empty, gives
  // the names of the beginning and end tokens and the chat template. If `chat_template` is not empty, it is
  // used instead.
  static base::Result<std::shared_ptr<const Tokenizer>> from_json(std::string_view tokenizer_json,
                                                                  std::string_view config_json = {},
                                                                  std::string_view chat_template = {});

  explicit Tokenizer(TokenizerParts parts);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Encodes a text. Once `stop` is requested, ends early with meaningless tokens.
  std::vector<TokenId> encode(std::string_view text, Specials specials,
                              const std::stop_token& stop = {}) const;
  // Encodes a prompt. A special token is recognised only if none of its bytes came from the request. The same
  // holds for other added tokens with which the chat template marks its parts, such as <tool_call>, and for
  // those of `fim()`.
  std::vector<TokenId> encode(const Prompt& prompt, const std::stop_token& stop = {}) const;
  // Adds the tokens that the model's post-processor puts around a whole text.
  std::vector<TokenId> with_ends(std::vector<TokenId> tokens) const;
  std::string decode(std::span<const TokenId> tokens, SpecialOutput specials = SpecialOutput::skip) const;

  // Returns the token's bytes if it follows other tokens. They may be incomplete UTF-8 characters. Requires
  // `valid(id)`.
  std::string_view bytes(TokenId id) const;
  // Returns the token's bytes at the beginning of a text. Requires `valid(id)`.
  std::string first_bytes(TokenId id) const;
  int size() const;
  // The size of the longest token; at least 1.
  std::size_t max_token_bytes() const;
  bool valid(TokenId id) const { return id >= 0 && id < size(); }
  // Whether this is a control, unknown or unused token, which decoding skips. Requires `valid(id)`.
  bool is_special(TokenId id) const;
  // Finds the token with exactly these bytes.
  std::optional<TokenId> find(std::string_view bytes) const;

  std::optional<TokenId> bos() const;
  std::optional<TokenId> eos() const;
  std::optional<TokenId> pad() const;
  bool add_bos() const;
  // Whether the model wants eos() after a text that it reads as a whole, as encoders do.
  bool add_eos() const;
  // Every token that ends a generation, in ascending order.
  std::span<const TokenId> end_tokens() const;
  // The tokens for filling in the middle; absent if the model cannot do that.
  const std::optional<FimTokens>& fim() const;
  // The model's own Jinja template; empty if it has none.
  const std::string& chat_template() const;
  // The number of spaces that decoding drops from a text's beginning because encoding adds them.
  int leading_spaces() const;

 private:
  std::unique_ptr<const TokenizerParts> parts_;
  std::unique_ptr<WorkspacePool> pool_;
};

}  // namespace kvasir::text

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
#include "text/tokenizer/prompt.h"
#include "text/tokenizer/vocabulary.h"

namespace kvasir::text {

struct TokenizerParts;
class WorkspacePool;

// What to do with text that spells a special token such as <|im_start|>.
enum class Specials {
  as_text,  // it is ordinary text; what a client wrote
  parse,    // it is the token
};

enum class SpecialOutput { skip, keep };

// Text to tokens and back for one model. Immutable, so any thread may use it; shared by whoever needs it.
// Encoding never adds a beginning-of-text token: a chat template writes its own, a plain completion puts
// bos() first where add_bos() says so. Bytes that are not UTF-8 become byte tokens where the model has them.
class Tokenizer {
 public:
  // From a GGUF's vocabulary.
  static base::Result<std::shared_ptr<const Tokenizer>> from_vocabulary(Vocabulary vocabulary);
  // From Hugging Face's tokenizer.json, and tokenizer_config.json (may be empty) for the names of the
  // beginning and end tokens and the chat template. `chat_template`, where not empty, is the template
  // instead.
  static base::Result<std::shared_ptr<const Tokenizer>> from_json(std::string_view tokenizer_json,
                                                                  std::string_view config_json = {},
                                                                  std::string_view chat_template = {});

  explicit Tokenizer(TokenizerParts parts);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Ends early, with tokens that mean nothing, once `stop` is requested.
  std::vector<TokenId> encode(std::string_view text, Specials specials,
                              const std::stop_token& stop = {}) const;
  // Special tokens are recognised only where no byte of them came from the request, and so are other added
  // tokens that the chat template marks its parts with, such as <tool_call>.
  std::vector<TokenId> encode(const Prompt& prompt, const std::stop_token& stop = {}) const;
  // `tokens` between those that the model's post-processor puts around a whole text.
  std::vector<TokenId> with_ends(std::vector<TokenId> tokens) const;
  std::string decode(std::span<const TokenId> tokens, SpecialOutput specials = SpecialOutput::skip) const;

  // The token's own bytes after others, which need not be whole UTF-8 characters. `valid(id)`.
  std::string_view bytes(TokenId id) const;
  // The bytes where it is the first of a text. `valid(id)`.
  std::string first_bytes(TokenId id) const;
  int size() const;
  // Of the longest token; at least 1.
  std::size_t max_token_bytes() const;
  bool valid(TokenId id) const { return id >= 0 && id < size(); }
  // Control, unknown and unused tokens: decoding skips them. `valid(id)`.
  bool is_special(TokenId id) const;
  // The token whose bytes are exactly these.
  std::optional<TokenId> find(std::string_view bytes) const;

  std::optional<TokenId> bos() const;
  std::optional<TokenId> eos() const;
  std::optional<TokenId> pad() const;
  bool add_bos() const;
  // Whether the model wants its eos() after a text that it is to read as a whole; encoders do.
  bool add_eos() const;
  // Every token that ends a generation, ascending.
  std::span<const TokenId> end_tokens() const;
  // The model's own Jinja template; empty where it has none.
  const std::string& chat_template() const;
  // How many spaces decoding drops from a text's beginning, because encoding put them there.
  int leading_spaces() const;

 private:
  std::unique_ptr<const TokenizerParts> parts_;
  std::unique_ptr<WorkspacePool> pool_;
};

}  // namespace kvasir::text

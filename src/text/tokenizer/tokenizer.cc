#include "text/tokenizer/tokenizer.h"

#include <algorithm>
#include <array>
#include <set>
#include <stop_token>
#include <utility>

#include "text/tokenizer/detokenizer.h"
#include "text/tokenizer/encoding.h"
#include "text/tokenizer/tokenizer_parts.h"

namespace kvasir::text {
namespace {

// Names of tokens that end a turn or a text in various model families. A file names only one of them as its
// end-of-sequence token, but models also emit the others.
constexpr std::array<std::string_view, 14> kEndTokenNames = {
    "<|im_end|>",      "<|endoftext|>",
    "<|eot_id|>",      "<|eom_id|>",
    "<|end_of_text|>", "<|end|>",
    "<end_of_turn>",   "</s>",
    "<eos>",           "<|return|>",
    "<|call|>",        "<|eot|>",
    "<EOT>",           "<｜end▁of▁sentence｜>",
};

std::vector<TokenId> find_end_tokens(const TokenizerParts& parts) {
  std::set<TokenId> ends;
  if (parts.eos) ends.insert(*parts.eos);
  if (parts.eot) ends.insert(*parts.eot);
  for (const std::string_view name : kEndTokenNames) {
    const auto id = parts.table->find_added(name);
    if (id && parts.table->type(*id) == TokenType::control) ends.insert(*id);
  }
  return {ends.begin(), ends.end()};
}

// Whether the chat template marks turns with the token. A model without a template uses ChatML.
bool marks_turns(std::string_view token, const TokenizerParts& parts) {
  if (std::find(kEndTokenNames.begin(), kEndTokenNames.end(), token) != kEndTokenNames.end()) return true;
  return parts.chat_template.empty() ? token == "<|im_start|>"
                                     : parts.chat_template.find(token) != std::string::npos;
}

}  // namespace

Tokenizer::Tokenizer(TokenizerParts parts) : pool_(std::make_unique<WorkspacePool>()) {
  CHECK(parts.table && parts.model);
  parts.end_tokens = find_end_tokens(parts);
  parts.fim = find_fim_tokens(*parts.table, parts.named_fim);
  const std::vector<TokenId> fim = parts.fim ? parts.fim->all() : std::vector<TokenId>();
  for (AddedTokens::Entry& entry : parts.added_in_prompts.entries()) {
    const std::string_view token = parts.table->spelling(entry.id);
    // Line ends and runs of spaces are in many templates, but they do not mark turns.
    const bool blank = space_at_start(token) == token.size();
    const bool is_fim = std::ranges::find(fim, entry.id) != fim.end();
    entry.structural = !entry.special && !blank && (is_fim || marks_turns(token, parts));
  }
  parts_ = std::make_unique<const TokenizerParts>(std::move(parts));
}

Tokenizer::~Tokenizer() = default;

std::vector<TokenId> Tokenizer::encode(std::string_view text, Specials specials,
                                       const std::stop_token& stop) const {
  return Encoding(*parts_, *pool_, stop).text(text, [specials](Range, const AddedTokens::Entry& entry) {
    return specials == Specials::parse || !entry.special;
  });
}

std::vector<TokenId> Tokenizer::encode(const Prompt& prompt, const std::stop_token& stop) const {
  return Encoding(*parts_, *pool_, stop)
      .prompt(prompt.text, [&prompt](Range range, const AddedTokens::Entry& entry) {
        return (!entry.special && !entry.structural) || !prompt.touches_input(range.begin, range.end);
      });
}

std::vector<TokenId> Tokenizer::with_ends(std::vector<TokenId> tokens) const {
  tokens.insert(tokens.begin(), parts_->before_text.begin(), parts_->before_text.end());
  tokens.insert(tokens.end(), parts_->behind_text.begin(), parts_->behind_text.end());
  return tokens;
}

std::string Tokenizer::decode(std::span<const TokenId> tokens, SpecialOutput specials) const {
  // The stream does not outlive this call, so it gets a pointer that does not own the tokenizer.
  Detokenizer stream(std::shared_ptr<const Tokenizer>(std::shared_ptr<const Tokenizer>(), this), specials);
  std::string text;
  for (const TokenId id : tokens) text += stream.push(id);
  return text + stream.flush();
}

std::string Tokenizer::first_bytes(TokenId id) const {
  if (!parts_->decoder.first_differs()) return std::string(bytes(id));
  return parts_->decoder.bytes(parts_->table->spelling(id), Decoder::Place::first);
}

std::string_view Tokenizer::bytes(TokenId id) const {
  return parts_->table->bytes(id);
}

int Tokenizer::size() const {
  return parts_->table->size();
}

std::size_t Tokenizer::max_token_bytes() const {
  return parts_->table->max_token_bytes();
}

bool Tokenizer::is_special(TokenId id) const {
  return parts_->table->is_special(id);
}

std::optional<TokenId> Tokenizer::find(std::string_view bytes) const {
  const auto added = parts_->table->find_added(bytes);
  return added ? added : parts_->table->find_piece(bytes);
}

std::optional<TokenId> Tokenizer::bos() const {
  return parts_->bos;
}

std::optional<TokenId> Tokenizer::eos() const {
  return parts_->eos;
}

std::optional<TokenId> Tokenizer::pad() const {
  return parts_->pad;
}

bool Tokenizer::add_bos() const {
  return parts_->add_bos;
}

bool Tokenizer::add_eos() const {
  return parts_->add_eos;
}

std::span<const TokenId> Tokenizer::end_tokens() const {
  return parts_->end_tokens;
}

const std::optional<FimTokens>& Tokenizer::fim() const {
  return parts_->fim;
}

const std::string& Tokenizer::chat_template() const {
  return parts_->chat_template;
}

int Tokenizer::leading_spaces() const {
  return parts_->decoder.leading_spaces();
}

}  // namespace kvasir::text

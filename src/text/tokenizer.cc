#include "text/tokenizer.h"

#include <algorithm>
#include <array>
#include <set>
#include <stop_token>
#include <utility>

#include "base/utf8.h"
#include "text/detokenizer.h"
#include "text/tokenizer_parts.h"

namespace kvasir::text {
namespace {

// Tokens that end a turn or a text, by the names that model families gave them: files name one of them as
// their end-of-sequence token and models emit the others too.
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

// One call's way through the text.
class Encoding {
 public:
  Encoding(const TokenizerParts& parts, std::vector<TokenId>& out, const std::stop_token& stop)
      : parts_(parts), out_(out) {
    work_.stop = stop;
  }

  // `allowed(range, entry)`: whether an added token is recognised there.
  template <class Allowed>
  void run(std::string_view text, Allowed allowed) {
    std::size_t plain = 0;  // where the text that is no added token begins
    for (std::size_t at = 0; at < text.size();) {
      const auto match =
          parts_.added.may_begin_with(text[at]) ? parts_.added.match_at(text, at, allowed) : std::nullopt;
      if (!match) {
        ++at;
        continue;
      }
      std::size_t begin = match->range.begin;
      std::size_t end = match->range.end;
      if (match->entry.takes_space_before) {
        while (begin > plain && is_space(text[begin - 1])) --begin;
      }
      if (match->entry.takes_space_after) {
        while (end < text.size() && is_space(text[end])) ++end;
      }
      add_plain(text.substr(plain, begin - plain));
      out_.push_back(match->entry.id);
      plain = at = end;
    }
    add_plain(text.substr(plain));
  }

 private:
  static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  // Splitting and normalizing want UTF-8: other bytes are words of their own.
  void add_plain(std::string_view text) {
    while (!text.empty()) {
      const std::size_t valid = base::utf8_valid_prefix(text);
      add_valid(text.substr(0, valid));
      text.remove_prefix(valid);
      if (text.empty()) return;
      const std::size_t wrong = base::utf8_step(text).size;
      add_word(text.substr(0, wrong));
      text.remove_prefix(wrong);
    }
  }

  void add_valid(std::string_view text) {
    if (text.empty()) return;
    std::string normal;
    if (!parts_.normalizer.empty()) {
      normal = normalize(text, parts_.normalizer);
      text = normal;
    }
    parts_.pre_tokenizer.split(text, words_);
    for (const std::string_view word : words_) {
      if (work_.stop.stop_requested()) return;
      add_word(word);
    }
  }

  void add_word(std::string_view word) {
    if (parts_.word_piece) {
      parts_.word_piece->encode(word, out_);
    } else {
      parts_.model->encode(word, work_, out_);
    }
  }

  const TokenizerParts& parts_;
  std::vector<TokenId>& out_;
  std::vector<std::string_view> words_;
  Bpe::Workspace work_;
};

}  // namespace

Tokenizer::Tokenizer(TokenizerParts parts) {
  CHECK(parts.table && (parts.model || parts.word_piece));
  parts.end_tokens = find_end_tokens(parts);
  parts_ = std::make_unique<const TokenizerParts>(std::move(parts));
}

Tokenizer::~Tokenizer() = default;

std::vector<TokenId> Tokenizer::encode(std::string_view text, Specials specials,
                                       const std::stop_token& stop) const {
  std::vector<TokenId> tokens;
  Encoding(*parts_, tokens, stop).run(text, [specials](Range, const AddedTokens::Entry& entry) {
    return specials == Specials::parse || !entry.special;
  });
  return tokens;
}

std::vector<TokenId> Tokenizer::encode(const Prompt& prompt, const std::stop_token& stop) const {
  std::vector<TokenId> tokens;
  Encoding(*parts_, tokens, stop).run(prompt.text, [&prompt](Range range, const AddedTokens::Entry& entry) {
    return !entry.special || !prompt.touches_input(range.begin, range.end);
  });
  return tokens;
}

std::string Tokenizer::decode(std::span<const TokenId> tokens, SpecialOutput specials) const {
  std::string bytes;
  bool strip_space = parts_->strips_leading_space;
  for (const TokenId id : tokens) {
    if (specials == SpecialOutput::skip && is_special(id)) continue;
    std::string_view piece = this->bytes(id);
    if (strip_space && !piece.empty()) {
      strip_space = false;
      if (piece.front() == ' ') piece.remove_prefix(1);
    }
    bytes += piece;
  }
  std::string text;
  base::Utf8Repair repair;
  repair.push(bytes, text);
  repair.finish(text);
  return text;
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

const std::string& Tokenizer::chat_template() const {
  return parts_->chat_template;
}

bool Tokenizer::strips_leading_space() const {
  return parts_->strips_leading_space;
}

}  // namespace kvasir::text

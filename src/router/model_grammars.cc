#include "router/model_grammars.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace kvasir::router {

std::shared_ptr<grammar::GrammarCompiler> make_grammar_compiler(
    const std::shared_ptr<const text::Tokenizer>& tokenizer, std::span<const TokenId> end_tokens) {
  grammar::TokenTrie::Vocabulary vocabulary;
  vocabulary.token_bytes.reserve(static_cast<std::size_t>(tokenizer->size()));
  for (TokenId id = 0; id < tokenizer->size(); ++id) {
    const bool is_text = !tokenizer->is_special(id);
    vocabulary.token_bytes.emplace_back(is_text ? tokenizer->bytes(id) : std::string_view());
  }
  // A padded output layer may have end tokens that the vocabulary lacks.
  std::ranges::copy_if(end_tokens, std::back_inserter(vocabulary.end),
                       [&](TokenId id) { return tokenizer->valid(id); });
  vocabulary.tokenize = [tokenizer](std::string_view text) {
    return tokenizer->encode(text, text::Specials::as_text);
  };
  return std::make_shared<grammar::GrammarCompiler>(
      std::make_shared<const grammar::TokenTrie>(std::move(vocabulary)));
}

}  // namespace kvasir::router

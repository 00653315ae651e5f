#pragma once

#include <memory>
#include <span>

#include "base/ids.h"
#include "grammar/grammar_compiler.h"
#include "text/tokenizer/tokenizer.h"

namespace kvasir::router {

// Makes a compiler of grammars over the tokenizer's vocabulary, which takes some tenths of a second for a
// large vocabulary.
std::shared_ptr<grammar::GrammarCompiler> make_grammar_compiler(
    const std::shared_ptr<const text::Tokenizer>& tokenizer, std::span<const TokenId> end_tokens);

}  // namespace kvasir::router

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "grammar/grammar_compiler.h"
#include "text/chat_template.h"
#include "text/tokenizer/tokenizer.h"

namespace kvasir::router {

// What a request needs of a model before it has a worker: for its text to become tokens, and for its answer
// to become text again. It never changes, and a request may hold it for as long as it likes.
struct ModelText {
  std::string name;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  int context_length = 0;     // tokens of prompt and output together
  std::string fingerprint;    // of the weights and the program
  std::uint64_t version = 0;  // of what has the name, which another may get later
};

// Of a model that generates.
struct ChatText : ModelText {
  std::shared_ptr<const text::ChatTemplate> chat_template;
  std::shared_ptr<grammar::GrammarCompiler> grammars;  // over the tokenizer's vocabulary
};

// Of a model that makes vectors.
struct EmbedText : ModelText {
  int dimensions = 0;  // of a vector
};

using ChatTextPtr = std::shared_ptr<const ChatText>;
using EmbedTextPtr = std::shared_ptr<const EmbedText>;
using AnyText = std::variant<ChatTextPtr, EmbedTextPtr>;

inline const ModelText& common_text(const AnyText& any) {
  return std::visit([](const auto& text) -> const ModelText& { return *text; }, any);
}

}  // namespace kvasir::router

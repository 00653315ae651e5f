#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "grammar/grammar_compiler.h"
#include "router/public_prompts.h"
#include "text/chat_template.h"
#include "text/tokenizer/tokenizer.h"
#include "wire/model_facts.h"
#include "wire/sampling_advice.h"

namespace kvasir::router {

// The data of a model that turns a request's text into tokens and tokens into text. It is available before
// the request has a worker. Immutable; a request may hold it as long as it likes.
struct ModelText {
  std::string name;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  int context_length = 0;     // tokens of prompt and output together
  std::string fingerprint;    // of the weights and the program
  std::uint64_t version = 0;  // of this model; another one may get the name later
  std::shared_ptr<const wire::ModelFacts> facts = std::make_shared<const wire::ModelFacts>();  // never null
};

// Text data of a model that generates.
struct ChatText : ModelText {
  std::shared_ptr<const text::ChatTemplate> chat_template;
  std::shared_ptr<grammar::GrammarCompiler> grammars;  // over the tokenizer's vocabulary
  std::int64_t num_parameters = 0;                     // 0: not known
  std::shared_ptr<PublicPrompts> public_prompts;       // null: none
  wire::SamplingAdvice sampling;                       // for requests that set none
};

// Text data of a model that makes embeddings.
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

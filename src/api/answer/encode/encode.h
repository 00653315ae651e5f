#pragma once

#include <cstddef>
#include <stop_token>
#include <variant>

#include "api/answer/encode/prompt.h"
#include "api/answer/job/job.h"
#include "api/answer/question/question.h"
#include "router/model_text.h"
#include "text/answer/tool_syntax.h"

// Turns a question into a job. The functions are pure and may take long, so they may run on any thread.
namespace kvasir::api {

// Completes the request's parameters for the model: how it calls tools, how it reasons and how it ends a
// turn.
base::Result<GenerateParams> fit_params(const router::ChatText& model, const QuestionText& text);

// Whether and where reasoning is expected in the answer to a chat.
text::AnswerSyntax::Reasoning reasoning_of(const router::ChatText& model, const EncodedChat& chat);

// Returned if the chat does not fit: this many of its oldest turns must be summarized first.
struct TooManyTurns {
  std::size_t num_turns = 0;
};
using Encoded = std::variant<Job, TooManyTurns>;

// `params` is the result of `fit_params`. Tokenizing ends early, with an error, once `stop` is requested.
base::Result<Encoded> encode(const router::ChatTextPtr& model, const QuestionText& text,
                             const GenerateParams& params, const std::stop_token& stop);

}  // namespace kvasir::api

#pragma once

#include <cstddef>
#include <stop_token>
#include <variant>

#include "api/answer/job.h"
#include "api/answer/question.h"
#include "router/model_text.h"

// From a question to a job. Pure and possibly long, so it may run on any thread.
namespace kvasir::api {

// The parameters as the model needs them: its own ways of calling tools, of reasoning and of ending a turn.
base::Result<GenerateParams> fit_params(const router::ChatText& model, const QuestionText& text);

// A chat of which so many of the oldest turns do not fit, and are to be summarized.
struct TooManyTurns {
  std::size_t num_turns = 0;
};
using Encoded = std::variant<Job, TooManyTurns>;

// `params` are those that `fit_params` gave. Tokenizing ends early, with an error, once `stop` is requested.
base::Result<Encoded> encode(const router::ChatTextPtr& model, const QuestionText& text,
                             const GenerateParams& params, const std::stop_token& stop);

}  // namespace kvasir::api

#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "api/answer/answer_shape.h"
#include "api/answer/job.h"
#include "api/answer/question.h"
#include "api/http/service.h"

namespace kvasir::api {

// The part of the answer that is known before its first delta.
AnswerHead make_head(const GenerateParams& params, const Job& job, std::string id);

// Answers one question: tokenizes it, fits it to the context, admits it, finds a worker, runs it, and writes
// the answer in the endpoint's shape, streamed or whole. The request ends when its client leaves, unless it
// asked for a resumable stream.
boost::asio::awaitable<void> answer(Service& service, Exchange& exchange, const AnswerKind& kind,
                                    Question question);

}  // namespace kvasir::api

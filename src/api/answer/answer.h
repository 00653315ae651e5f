#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "api/answer/answer_shape.h"
#include "api/answer/job.h"
#include "api/answer/question.h"
#include "api/http/service.h"

namespace kvasir::api {

// What is known of a job's answer before its first delta.
AnswerHead make_head(const GenerateParams& params, const Job& job, std::string id);

// Takes a question to its end: makes tokens of it, fits the context, admits it, finds a worker, runs it, and
// writes its answer in the endpoint's shape, streamed or whole. The end of the client is the end of the
// request, unless that asked for a stream that can be resumed.
boost::asio::awaitable<void> answer(Service& service, Exchange& exchange, const AnswerKind& kind,
                                    Question question);

}  // namespace kvasir::api

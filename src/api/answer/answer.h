#pragma once

#include <boost/asio/awaitable.hpp>
#include <string>

#include "api/answer/delta/delta_stream.h"
#include "api/answer/job/job.h"
#include "api/answer/question/question.h"
#include "api/answer/shape/answer_shape.h"
#include "api/answer/write/answer_writer.h"
#include "api/answer/write/outlet.h"
#include "api/http/caller/caller.h"
#include "api/http/service/service.h"

namespace kvasir::api {

// The part of an answer that is known before its first delta.
AnswerHead make_head(const GenerateParams& params, const Job& job, std::string id);

// Answers one question: tokenizes it, fits it to the context, admits it, finds a worker, runs it, and writes
// the answer in the endpoint's shape, streamed or whole. The request ends when its client leaves, unless it
// asked for a resumable stream or to run in the background.
boost::asio::awaitable<void> answer(Service& service, Exchange& exchange, const AnswerKind& kind,
                                    Question question);

// Writes the stream to its end. If the client leaves, a resumable stream goes on and any other is cancelled.
// The usage record is written before the last event.
boost::asio::awaitable<void> write_answer(Service& service, Outlet& out, const Asker& asker,
                                          DeltaStream& stream, AnswerWriter& writer);

}  // namespace kvasir::api

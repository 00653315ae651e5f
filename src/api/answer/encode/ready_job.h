#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>

#include "api/answer/job/job.h"
#include "api/answer/question/question.h"
#include "api/answer/write/outlet.h"
#include "api/http/service/service.h"

namespace kvasir::api {

// Makes a job of the question: looks up the model, tokenizes the text and fits it to the context, with a
// summary of the oldest turns if the request asks for one and needs it. Long work runs on other threads than
// the I/O threads; a stream gets its headers and pings meanwhile.
boost::asio::awaitable<base::Result<Job>> make_ready(Service& service, Outlet& out,
                                                     std::shared_ptr<const QuestionText> text,
                                                     std::size_t num_bytes);

}  // namespace kvasir::api

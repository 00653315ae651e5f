#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>

#include "api/answer/job.h"
#include "api/answer/outlet.h"
#include "api/answer/question.h"
#include "api/http/service.h"

namespace kvasir::api {

// Finds the model's text, makes tokens of the question's, and fits them to the context: with a summary of the
// oldest turns where that is asked for and needed. Away from the I/O threads where it may take long; a stream
// gets its headers and pings meanwhile.
boost::asio::awaitable<base::Result<Job>> make_ready(Service& service, Outlet& out,
                                                     std::shared_ptr<const QuestionText> text,
                                                     std::size_t num_bytes);

}  // namespace kvasir::api

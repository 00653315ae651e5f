#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "api/answer/question/question.h"
#include "api/answer/write/outlet.h"
#include "api/http/caller/caller.h"
#include "upstream/pool.h"

namespace kvasir::api {

// The upstreams that answer for the model. Null if there are none, or the caller may not use the model.
std::shared_ptr<upstream::Pool> upstreams_of(const Service& service, const tenancy::Caller& caller,
                                             const std::string& model);

// The rest of answer() for a model that upstreams serve: admits the question, waits for a place, asks an
// upstream, and writes the answer. `text` is the question's text; `question.text` may have been moved from.
boost::asio::awaitable<void> answer_by_upstream(Service& service, Outlet& out, const Asker& asker,
                                                std::shared_ptr<upstream::Pool> pool, Question& question,
                                                std::shared_ptr<const QuestionText> text);

}  // namespace kvasir::api

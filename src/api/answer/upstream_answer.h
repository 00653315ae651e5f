#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "api/answer/question/question.h"
#include "api/answer/write/outlet.h"
#include "api/http/caller/caller.h"
#include "upstream/pool.h"

namespace kvasir::api {

// The upstreams that answer for the model; null: there are none that the caller may use.
std::shared_ptr<upstream::Pool> upstreams_of(const Service& service, const tenancy::Caller& caller,
                                             const std::string& model);

// The part of answer() that comes after the question is complete, where an upstream answers: admits it, waits
// for a place, asks, and writes the answer. `text` is the question's, whose own may be empty by now.
boost::asio::awaitable<void> answer_by_upstream(Service& service, Outlet& out, const Asker& asker,
                                                std::shared_ptr<upstream::Pool> pool, Question& question,
                                                std::shared_ptr<const QuestionText> text);

}  // namespace kvasir::api

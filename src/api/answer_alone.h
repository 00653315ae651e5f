#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <string>

#include "api/respond.h"
#include "api/service.h"

namespace kvasir::api {

// A request that no client waits for: a line of a batch.
struct LoneRequest {
  Read read;
  AnswerKind kind;
  std::string body;
  int priority = 0;
};

// The whole answer. `running` is told of the generation while there is one, and of nothing when it is over,
// so that it can be cancelled. Everything happens on the executor, tokenizing too.
boost::asio::awaitable<base::Result<std::string>> answer_alone(Service& service,
                                                               boost::asio::any_io_executor executor,
                                                               LoneRequest request,
                                                               std::function<void(Generation*)> running);

}  // namespace kvasir::api

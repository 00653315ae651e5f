#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <vector>

#include "api/answer/choice.h"
#include "api/answer/job.h"
#include "base/json.h"
#include "base/result.h"

namespace kvasir::api {

// Keeps one answer while it is made, for an endpoint whose answers last. On the request's executor.
class AnswerKeeper {
 public:
  enum class Ending : std::uint8_t {
    finished,
    left,    // the client did, before the end
    failed,  // the engine did, or it refused
  };

  virtual ~AnswerKeeper() = default;

  // Before anything is generated. An error ends the request.
  virtual boost::asio::awaitable<base::Status> begin(const Job& job) = 0;
  // Each delta, before the client sees it.
  virtual boost::asio::awaitable<void> take(const std::vector<Delta>& deltas) = 0;
  // Once after `begin`, however the answer ended; a client is told of the end only after it. What is
  // returned are further fields of the answer.
  virtual boost::asio::awaitable<base::Result<base::json::object>> end(Ending ending,
                                                                       const wire::Usage& usage) = 0;
};

}  // namespace kvasir::api

#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <vector>

#include "api/answer/delta/choice.h"
#include "api/answer/job/job.h"
#include "base/json.h"
#include "base/result.h"

namespace kvasir::api {

// Stores one answer while it is generated, for endpoints that keep their answers. Used on the request's
// executor. If a keeper is destroyed between `begin` and `end`, because of an exception or because the server
// stops, it ends the answer in the store itself.
class AnswerKeeper {
 public:
  enum class Ending : std::uint8_t {
    finished,
    left,    // the client left before the end
    failed,  // the engine failed or refused the request
  };

  virtual ~AnswerKeeper() = default;

  // Called before anything is generated. An error ends the request.
  virtual boost::asio::awaitable<base::Status> begin(const Job& job) = 0;
  // Called with each delta before the client sees it.
  virtual boost::asio::awaitable<void> take(const std::vector<Delta>& deltas) = 0;
  // Called before `end` if the answer failed, with the reason.
  virtual void note_failure(const base::Error&) {}
  // Called once after `begin`, however the answer ended, and before the client learns of the end. Returns
  // further fields for the answer.
  virtual boost::asio::awaitable<base::Result<base::json::object>> end(Ending ending,
                                                                       const wire::Usage& usage) = 0;
};

}  // namespace kvasir::api

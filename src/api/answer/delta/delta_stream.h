#pragma once

#include <boost/asio/awaitable.hpp>
#include <vector>

#include "api/answer/delta/choice.h"
#include "base/clock.h"
#include "base/result.h"
#include "wire/token_event.h"

namespace kvasir::api {

// An answer that is being generated, in one run of the model or several. Destroying it cancels what still
// runs. Lives on one executor.
class DeltaStream {
 public:
  virtual ~DeltaStream() = default;

  // New deltas of all choices since the last call; none if `wait` passed first or the answer is over. An
  // error ends the answer.
  virtual boost::asio::awaitable<base::Result<std::vector<Delta>>> next(base::Duration wait) = 0;

  // True once every choice has finished, one has failed, or `cancel` was called.
  virtual bool over() const = 0;
  // After this, nothing more comes and `next` returns at once.
  virtual void cancel() = 0;
  virtual bool cancelled() const = 0;

  // Usage of all choices so far. A prompt counts once, however many choices it has. Times are those of the
  // first choice in the first run.
  virtual wire::Usage usage() const = 0;
  virtual int num_choices() const = 0;
};

}  // namespace kvasir::api

#pragma once

#include <boost/asio/awaitable.hpp>
#include <vector>

#include "api/answer/delta/choice.h"
#include "base/clock.h"
#include "base/result.h"
#include "wire/token_event.h"

namespace kvasir::api {

// An answer that is being generated, by one run of the model or several. Its destructor cancels what still
// runs. Used on one executor.
class DeltaStream {
 public:
  virtual ~DeltaStream() = default;

  // The new deltas of all choices since the last call. Empty if `wait` passed first or the answer is over. An
  // error ends the answer.
  virtual boost::asio::awaitable<base::Result<std::vector<Delta>>> next(base::Duration wait) = 0;

  // True after every choice has finished, or one has failed, or `cancel` was called.
  virtual bool over() const = 0;
  // Ends the answer: no more deltas come and `next` returns at once.
  virtual void cancel() = 0;
  virtual bool cancelled() const = 0;

  // Usage of all choices so far. A prompt counts once, however many choices it has. The times are those of
  // the first choice in the first run of the model.
  virtual wire::Usage usage() const = 0;
  virtual int num_choices() const = 0;
};

}  // namespace kvasir::api

#pragma once

#include <boost/asio/awaitable.hpp>
#include <vector>

#include "api/answer/choice.h"
#include "base/clock.h"
#include "base/result.h"
#include "wire/token_event.h"

namespace kvasir::api {

// An answer on its way, however many steps it takes. Destroying it ends whatever it runs. Lives on one
// executor.
class DeltaStream {
 public:
  virtual ~DeltaStream() = default;

  // What became certain since the last call, all choices together; nothing where `wait` passed first, or the
  // answer is over. An error ends it.
  virtual boost::asio::awaitable<base::Result<std::vector<Delta>>> next(base::Duration wait) = 0;

  // Every choice has finished, one failed, or `cancel` was called.
  virtual bool over() const = 0;
  // Nothing more will come, and `next` returns at once.
  virtual void cancel() = 0;
  virtual bool cancelled() const = 0;

  // So far; of all choices together. A prompt counts once, however many choices it has.
  virtual wire::Usage usage() const = 0;
  virtual int num_choices() const = 0;
};

}  // namespace kvasir::api

#pragma once

#include <boost/asio/awaitable.hpp>
#include <vector>

#include "api/answer/delta_stream.h"
#include "api/answer/job.h"

namespace kvasir::api {

// Where an answer's deltas go. On the stream's executor.
class DeltaSink {
 public:
  virtual ~DeltaSink() = default;

  // What became certain, in order; nothing where nothing did for a while. An error ends the answer: nobody
  // wants it any more.
  virtual boost::asio::awaitable<base::Status> take(std::vector<Delta> deltas) = 0;
};

// Gives all of a stream to the sink, and an empty list whenever `wait` has passed without any. The stream's
// error is in the client's words; cancelled: somebody cancelled it, or the sink wanted no more.
boost::asio::awaitable<base::Status> run_into(DeltaStream& stream, DeltaSink& sink, base::Duration wait);

// Adds the deltas up to whole answers.
class WholeAnswers final : public DeltaSink {
 public:
  explicit WholeAnswers(int num_choices) : choices_(static_cast<std::size_t>(num_choices)) {}

  boost::asio::awaitable<base::Status> take(std::vector<Delta> deltas) override;
  // The choices that the job keeps of each prompt's: the likeliest by token. Once, at the end.
  std::vector<Delta> best_of(int num_sampled, int num_kept, bool with_logprobs);

 private:
  std::vector<Delta> choices_;
};

}  // namespace kvasir::api

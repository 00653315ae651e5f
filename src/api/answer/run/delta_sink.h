#pragma once

#include <boost/asio/awaitable.hpp>
#include <vector>

#include "api/answer/delta/delta_stream.h"
#include "api/answer/job/job.h"

namespace kvasir::api {

// Receives an answer's deltas, on the stream's executor.
class DeltaSink {
 public:
  virtual ~DeltaSink() = default;

  // Takes new deltas, in order. The list is empty if nothing came for a while. An error ends the answer,
  // since the sink needs no more of it.
  virtual boost::asio::awaitable<base::Status> take(std::vector<Delta> deltas) = 0;
};

// Passes a whole stream to the sink, with an empty list whenever `wait` passes without deltas. Words the
// stream's error for the client. Fails with cancelled if the stream was cancelled or the sink returned an
// error.
boost::asio::awaitable<base::Status> run_into(DeltaStream& stream, DeltaSink& sink, base::Duration wait);

// Joins the deltas into whole answers.
class WholeAnswers final : public DeltaSink {
 public:
  explicit WholeAnswers(int num_choices) : choices_(static_cast<std::size_t>(num_choices)) {}

  boost::asio::awaitable<base::Status> take(std::vector<Delta> deltas) override;
  // The `num_kept` choices of each prompt with the highest mean logprob. Called once, at the end.
  std::vector<Delta> best_of(int num_sampled, int num_kept, bool with_logprobs);

 private:
  std::vector<Delta> choices_;
};

}  // namespace kvasir::api

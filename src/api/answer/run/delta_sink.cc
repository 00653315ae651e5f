#include "api/answer/run/delta_sink.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <span>
#include <utility>

#include "api/answer/run/client_error.h"
#include "api/answer/shape/answer_shape.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

// The mean logprob of an answer's tokens. An empty answer ranks last.
double mean_logprob(const Delta& choice) {
  double sum = 0;
  int count = 0;
  for (const TokenLine& line : choice.lines) {
    if (line.in_prompt || !line.logprob) continue;
    sum += line.logprob->logprob;
    ++count;
  }
  return count == 0 ? std::numeric_limits<double>::lowest() : sum / count;
}

}  // namespace

asio::awaitable<Status> run_into(DeltaStream& stream, DeltaSink& sink, base::Duration wait) {
  while (!stream.over()) {
    Result<std::vector<Delta>> deltas = co_await stream.next(wait);
    if (!deltas.ok()) co_return as_client_error(std::move(deltas).error());
    Status taken = co_await sink.take(std::move(*deltas));
    if (!taken.ok()) stream.cancel();
  }
  if (stream.cancelled()) co_return base::error(ErrorCode::cancelled, "the client left");
  co_return base::ok();
}

asio::awaitable<Status> WholeAnswers::take(std::vector<Delta> deltas) {
  for (Delta& delta : deltas) {
    Delta& sum = choices_[static_cast<std::size_t>(delta.index)];
    join(sum, std::move(delta));
  }
  co_return base::ok();
}

std::vector<Delta> WholeAnswers::best_of(int num_sampled, int num_kept, bool with_logprobs) {
  if (num_sampled <= num_kept) return std::move(choices_);
  std::vector<Delta> kept;
  for (std::size_t first = 0; first < choices_.size(); first += static_cast<std::size_t>(num_sampled)) {
    const std::span<Delta> group(&choices_[first], static_cast<std::size_t>(num_sampled));
    std::ranges::stable_sort(group, std::ranges::greater(), mean_logprob);
    for (Delta& choice : group.first(static_cast<std::size_t>(num_kept))) {
      choice.index = static_cast<int>(kept.size());
      if (!with_logprobs) choice.lines.clear();
      kept.push_back(std::move(choice));
    }
  }
  return kept;
}

}  // namespace kvasir::api

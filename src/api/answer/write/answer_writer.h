#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/answer/job/answer_keeper.h"
#include "api/answer/run/delta_sink.h"
#include "api/answer/shape/answer_shape.h"
#include "api/answer/write/outlet.h"
#include "api/http/record/request_meter.h"
#include "api/http/service/promise.h"

namespace kvasir::api {

// Writes one answer through its outlet, streamed or whole, and passes it to the keeper if there is one. Used
// on the exchange's executor.
class AnswerWriter final : public DeltaSink {
 public:
  struct Parts {
    std::unique_ptr<AnswerShape> shape;
    std::shared_ptr<json::object> extra;   // shared with the shape
    std::shared_ptr<AnswerKeeper> keeper;  // null: the answer is not kept
    bool streams = false;
    const Job& job;                    // only the constructor reads it
    std::optional<Promise> receipted;  // set if the answer has a receipt
  };
  AnswerWriter(Outlet& out, Parts parts);

  // Called before anything is generated. An error ends the request.
  boost::asio::awaitable<base::Status> begin(const Job& job);
  // Called instead of `open`, `take` and `close` if the engine refused the request.
  boost::asio::awaitable<void> refuse(base::Error error);
  // Sends the events that open a stream.
  boost::asio::awaitable<base::Status> open(DeltaStream& stream);
  boost::asio::awaitable<base::Status> take(std::vector<Delta> deltas) override;
  // Called once, however the answer ended. `ended` is the result of `run_into`. The last event waits for
  // `commit`.
  boost::asio::awaitable<void> close(DeltaStream& stream, base::Status ended, const Commit& commit);

 private:
  boost::asio::awaitable<void> wait_for(const Commit& commit);
  boost::asio::awaitable<base::Status> keep_end(AnswerKeeper::Ending ending, const wire::Usage& usage);
  boost::asio::awaitable<void> send_whole(const wire::Usage& usage);

  Outlet& out_;
  const std::unique_ptr<AnswerShape> shape_;
  const std::shared_ptr<json::object> extra_;
  const std::shared_ptr<AnswerKeeper> keeper_;
  const bool streams_;
  const int num_sampled_;
  const int num_kept_;
  const bool with_logprobs_;
  const std::optional<Promise> receipted_;
  WholeAnswers whole_;
  DeltaStream* stream_ = nullptr;  // null until the stream is open
  std::string events_;             // events not written yet
};

}  // namespace kvasir::api

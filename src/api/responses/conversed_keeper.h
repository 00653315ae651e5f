#pragma once

#include <memory>
#include <vector>

#include "api/conversations/turn_keeper.h"
#include "api/responses/response_keeper.h"
#include "api/responses/responses_shape.h"

namespace kvasir::api {

// Stores a response as a turn of a conversation, and also as a response if the request asks for that.
class ConversedKeeper final : public AnswerKeeper {
 public:
  // `response` is null if only the turn is stored.
  ConversedKeeper(std::unique_ptr<TurnKeeper> turn, std::shared_ptr<ResponseKeeper> response)
      : turn_(std::move(turn)), response_(std::move(response)) {}

  // Sets the shape that writes the response. Call it before the first delta; `shape` outlives the answer.
  void watch(ResponsesShape& shape);

  boost::asio::awaitable<base::Status> begin(const Job& job) override;
  boost::asio::awaitable<void> take(const std::vector<Delta>& deltas) override;
  void note_failure(const base::Error& error) override;
  boost::asio::awaitable<base::Result<base::json::object>> end(Ending ending,
                                                               const wire::Usage& usage) override;

 private:
  const std::unique_ptr<TurnKeeper> turn_;
  const std::shared_ptr<ResponseKeeper> response_;
  ResponsesShape* shape_ = nullptr;
  Delta sum_;
};

}  // namespace kvasir::api

#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <string>
#include <vector>

#include "api/answer/answer_keeper.h"
#include "api/http/service.h"
#include "api/responses/responses_shape.h"

namespace kvasir::api {

// Stores a response with its input once it is complete. A response that failed, or whose client left, is not
// stored.
class ResponseKeeper final : public AnswerKeeper {
 public:
  struct Source {
    std::string tenant;
    std::string input;        // the request's own items, as JSON
    std::string previous_id;  // empty: none
  };
  // `service` outlives the keeper. `executor` is the request's.
  ResponseKeeper(Service& service, boost::asio::any_io_executor executor, Source source);

  // Sets the writer of the response. Call it before the first delta; `shape` outlives the answer.
  void watch(ResponsesShape& shape) { shape_ = &shape; }

  boost::asio::awaitable<base::Status> begin(const Job& job) override;
  boost::asio::awaitable<void> take(const std::vector<Delta>& deltas) override;
  boost::asio::awaitable<base::Result<base::json::object>> end(Ending ending,
                                                               const wire::Usage& usage) override;

 private:
  Service& service_;
  const boost::asio::any_io_executor executor_;
  const Source source_;
  ResponsesShape* shape_ = nullptr;
  Delta sum_;
};

}  // namespace kvasir::api

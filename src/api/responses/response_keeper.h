#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/answer/job/answer_keeper.h"
#include "api/http/service/service.h"
#include "api/http/wait/late_writes.h"
#include "api/responses/background_run.h"
#include "api/responses/responses_shape.h"
#include "store/answers.h"

namespace kvasir::api {

// Stores a response with its input once it is complete. A response that failed, or whose client left, is not
// stored. A response in the background is different: it is stored before anything is generated, and its end
// is stored however it ends, later if the store cannot take it now or if the keeper is destroyed before.
class ResponseKeeper final : public AnswerKeeper {
 public:
  struct Source {
    std::string tenant;
    std::string input;                                    // the request's own items, as JSON
    std::string previous_id;                              // empty: none
    std::shared_ptr<BackgroundRun> background = nullptr;  // null: the client waits for the response
  };
  // `service` outlives the keeper. `executor` is the request's.
  ResponseKeeper(Service& service, boost::asio::any_io_executor executor, Source source);
  ~ResponseKeeper() override;
  ResponseKeeper(const ResponseKeeper&) = delete;
  ResponseKeeper& operator=(const ResponseKeeper&) = delete;

  // Sets the shape that writes the response. Call it before the first delta; `shape` outlives the answer.
  void watch(ResponsesShape& shape) { shape_ = &shape; }

  boost::asio::awaitable<base::Status> begin(const Job& job) override;
  boost::asio::awaitable<void> take(const std::vector<Delta>& deltas) override;
  void note_failure(const base::Error& error) override { failure_ = error; }
  boost::asio::awaitable<base::Result<base::json::object>> end(Ending ending,
                                                               const wire::Usage& usage) override;

 private:
  store::StoredAnswer record_of(const json::object& response, store::AnswerState state) const;
  boost::asio::awaitable<base::Status> put(const json::object& response, store::AnswerState state);
  // Replaces the stored record of a response in the background.
  boost::asio::awaitable<base::Status> save(const json::object& response, store::AnswerState state);
  boost::asio::awaitable<base::Status> end_background(Ending ending, const wire::Usage& usage);
  Write saving(const json::object& response) const;
  Write saving_failure() const;

  Service& service_;
  const boost::asio::any_io_executor executor_;
  const Source source_;
  ResponsesShape* shape_ = nullptr;
  Delta sum_;
  std::optional<base::Error> failure_;
  // The members below are for a response in the background.
  json::object begun_;       // the response as it was first stored
  bool running_ = false;     // the store has it as in progress
  bool is_writing_ = false;  // the first delta has come
};

}  // namespace kvasir::api

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/answer/job/answer_keeper.h"
#include "api/conversations/turn_request.h"
#include "api/http/service/service.h"
#include "api/http/wait/late_writes.h"

namespace kvasir::api {

// Stores a turn of a conversation. Before anything is generated, it stores the turn's messages and an answer
// in progress. After that it saves the answer every second and at its end. A round that ends in calls of this
// server's tools becomes a message of its own, followed by the results. A turn that fails before its first
// token leaves no trace. If the keeper is destroyed before the end, the message in progress is ended later,
// with the text that the store has.
class TurnKeeper final : public AnswerKeeper {
 public:
  struct Turn {
    store::Key key;
    store::Append append;             // not including the answer
    std::vector<std::string> branch;  // ids of the messages before the turn
    std::string parent_id;            // id of the message before the answer
    std::string tier;                 // the caller's tier, for prices
  };
  // `service` outlives the keeper. `executor` is the request's.
  TurnKeeper(Service& service, boost::asio::any_io_executor executor, Turn turn);
  ~TurnKeeper() override;
  TurnKeeper(const TurnKeeper&) = delete;
  TurnKeeper& operator=(const TurnKeeper&) = delete;

  // Sets the items of the answer's last message, instead of those made from it. Call it before `end`.
  void set_items(json::array items) { items_ = std::move(items); }

  boost::asio::awaitable<base::Status> begin(const Job& job) override;
  boost::asio::awaitable<void> take(const std::vector<Delta>& deltas) override;
  boost::asio::awaitable<base::Result<base::json::object>> end(Ending ending,
                                                               const wire::Usage& usage) override;

 private:
  boost::asio::awaitable<base::Status> save();
  Write saving() const;
  Write appending(store::Append append) const;
  // Writes `more`, after any earlier writes that the store has not taken yet.
  boost::asio::awaitable<base::Status> write(Writes more);
  // Hands the writes that failed to the service, which retries them after this keeper is gone.
  void write_later();
  Write withdrawing() const;
  Write ending_as_it_is(const std::string& id) const;
  // Ends a turn whose `end` was never called: hands the writes to the service.
  void end_unfinished();
  void describe(const Job& job);
  void count(const wire::Usage& usage, Ending ending);
  std::vector<store::Message> result_messages(const std::vector<ServerCall>& calls);
  boost::asio::awaitable<base::Status> end_round(const ToolRound& round);
  // Ends an answer that stopped while tools ran.
  boost::asio::awaitable<base::Status> end_inside_round();

  Service& service_;
  const boost::asio::any_io_executor executor_;
  Turn turn_;
  store::Message answer_;
  Delta sum_;
  json::array items_;
  std::vector<ServerCall> calls_;      // of the current round
  wire::Usage counted_;                // already counted in the messages of earlier rounds
  std::vector<std::string> made_ids_;  // ids of the messages of earlier rounds
  // Writes that the store has not taken yet. Shared with the store's thread while it works on them.
  std::shared_ptr<Writes> unsaved_ = std::make_shared<Writes>();
  std::string running_id_;    // the message that the store holds as in progress
  bool in_progress_ = false;  // the store may hold a message in progress that `end` has not ended yet
  base::TimePoint started_;
  base::TimePoint saved_;
};

}  // namespace kvasir::api

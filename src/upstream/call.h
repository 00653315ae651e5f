#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/client_connection.h"
#include "upstream/chunk.h"
#include "upstream/pool.h"
#include "upstream/running_calls.h"

namespace kvasir::upstream {

// A request to an upstream for a streamed answer. It has a constructor because of g++ 12; see
// net::HttpHeader.
struct Ask {
  Ask(std::string path_in, std::string fields_in) : path(std::move(path_in)), fields(std::move(fields_in)) {}

  std::string path;     // "/chat/completions"
  std::string fields;   // of the body, as JSON without braces, "model" and the bound of tokens
  int max_tokens = -1;  // -1: no bound
  std::vector<net::HttpHeader> headers = {};  // in addition to the member's own
  std::uint64_t affinity = 0;
  int num_choices = 1;
};

// One request to a pool, running or ended. Until the answer has begun, it may move to another member. Touched
// on one executor; its owner may release it at any time after `cancel`.
class Call : public std::enable_shared_from_this<Call> {
 public:
  static std::shared_ptr<Call> start(std::shared_ptr<Pool> pool, Slot slot, Ask ask, RunningCalls& running,
                                     const boost::asio::any_io_executor& executor);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Takes the chunks that came since the last call. While many wait to be taken, nothing more is read.
  std::vector<Chunk> take();
  // True once a member has accepted the request.
  bool accepted() const { return accepted_; }
  // True once the answer has begun: from then on an error ends the answer.
  bool said_something() const { return said_something_; }
  // True once nothing more comes.
  bool over() const { return over_; }
  // Why the call ended, if it did not end well.
  const std::optional<base::Error>& failure() const { return failure_; }
  // `told` is called after each change of the values above, on the executor. Empty: no listener.
  void on_news(std::function<void()> told) { told_ = std::move(told); }
  // Ends the call and closes the connection, without a call of the listener.
  void cancel();
  // Ends the call with an error. On another thread use RunningCalls.
  void end_with(base::Error why);

  // The label of the present or the last member.
  const std::string& label() const { return tried_.back(); }
  int num_tries() const { return static_cast<int>(tried_.size()); }
  const boost::asio::any_io_executor& executor() const { return executor_; }

 private:
  Call(std::shared_ptr<Pool> pool, Slot slot, Ask ask, RunningCalls& running,
       const boost::asio::any_io_executor& executor);

  static boost::asio::awaitable<void> drive(std::shared_ptr<Call> self);
  // Absent: the request ended well, or by `cancel` or `end_with`.
  boost::asio::awaitable<std::optional<Failure>> try_at(const std::shared_ptr<Member>& member);
  boost::asio::awaitable<std::optional<Failure>> exchange(const Member& member,
                                                          net::ClientConnection& connection);
  std::string body_for(const Member& member) const;
  base::Status take_event(std::string_view data);
  boost::asio::awaitable<void> await_room();
  bool answer_is_whole() const;
  // Closes the connection unless the next event comes within this time.
  void expect_within(double seconds);
  void watch();
  void finish(std::optional<base::Error> failure);
  void tell();

  const std::shared_ptr<Pool> pool_;
  const Ask ask_;
  RunningCalls& running_;
  const boost::asio::any_io_executor executor_;
  boost::asio::steady_timer watch_;
  boost::asio::steady_timer room_;
  std::function<void()> told_;
  std::vector<std::string> tried_;               // labels
  Slot slot_;                                    // held until the answer is complete or has failed
  net::ClientConnection* connection_ = nullptr;  // of the running exchange
  std::deque<Chunk> chunks_;                     // not taken yet
  std::vector<bool> finished_;                   // by choice
  std::size_t num_bytes_ = 0;                    // of all events
  double patience_s_ = 0;                        // as last given to expect_within
  base::TimePoint deadline_;                     // of the next event
  base::TimePoint watched_until_;                // when the timer fires, at or before the deadline
  double read_timeout_s_ = 0;                    // of the present member
  std::optional<Failure> wrong_answer_;
  bool accepted_ = false;
  bool said_something_ = false;
  bool done_ = false;  // the last event came
  bool silent_ = false;
  bool ended_ = false;  // by cancel or end_with
  bool over_ = false;
  std::optional<base::Error> failure_;
};

}  // namespace kvasir::upstream

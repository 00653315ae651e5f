#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "api/http/service/service.h"
#include "api/http/wait/text_queue.h"
#include "base/clock.h"
#include "base/result.h"
#include "net/responder.h"

namespace kvasir::api {

inline TextQueue::Turn turn_of(const tenancy::Caller& caller, std::size_t num_bytes) {
  return {caller.flow, caller.tier->weight, static_cast<std::int64_t>(num_bytes)};
}

// One piece of work on a queue, used on the executor of the request that waits for it. Its destructor gives
// the work up.
template <class T>
class TextTask {
 public:
  // The work owns its data, since it may run for a moment after the task is gone.
  using Work = std::function<base::Result<T>(const std::stop_token&)>;

  // If the queue refuses the work, the refusal is its result.
  TextTask(TextQueue& queue, TextQueue::Turn turn, const boost::asio::any_io_executor& executor, Work work)
      : queue_(queue), wake_(executor), state_(std::make_shared<State>()) {
    state_->wake = &wake_;
    entry_->turn = std::move(turn);
    entry_->run = [state = state_, executor, work = std::move(work)](const std::stop_token& stop) {
      finish(executor, state, run_guarded(work, stop));
    };
    entry_->drop = [state = state_, executor] {
      finish(executor, state,
             base::Error{.code = base::ErrorCode::unavailable,
                         .message = "the server is shutting down; try another, or this one later",
                         .reason = "server_draining",
                         .retry_after_s = 5});
    };
    if (base::Status added = queue_.add(entry_); !added.ok()) {
      state_->result.emplace(std::move(added).error());
      state_->ready = true;
    }
  }
  ~TextTask() {
    state_->wake = nullptr;
    queue_.give_up(entry_);
  }
  TextTask(const TextTask&) = delete;
  TextTask& operator=(const TextTask&) = delete;

  // Returns true once the result is there or the work was given up; false if `at_most` passed first.
  boost::asio::awaitable<bool> wait(base::Duration at_most) {
    wake_.expires_after(std::chrono::duration_cast<boost::asio::steady_timer::duration>(at_most));
    while (!state_->ready && !given_up_) {
      boost::system::error_code woken;
      co_await wake_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, woken));
      if (!woken) break;
    }
    co_return state_->ready || given_up_;
  }

  // After this the result is the error `cancelled`.
  void give_up() {
    given_up_ = true;
    queue_.give_up(entry_);
    wake_.cancel();
  }

  // Returns the result. Call it once, after wait() returned true.
  base::Result<T> take() {
    if (given_up_) return base::error(base::ErrorCode::cancelled, "the client left");
    return std::move(*state_->result);
  }

 private:
  struct State {
    std::optional<base::Result<T>> result;  // written once, before the post that sets `ready`
    // Touched on the executor only.
    bool ready = false;
    boost::asio::steady_timer* wake = nullptr;  // null once the task is gone
  };

  // An exception in one request (mostly out of memory) must not end the others.
  static base::Result<T> run_guarded(const Work& work, const std::stop_token& stop) {
    try {
      return work(stop);
    } catch (const std::exception& e) {
      return base::error(base::ErrorCode::internal, "the request could not be read: {}", e.what());
    }
  }

  static void finish(const boost::asio::any_io_executor& executor, const std::shared_ptr<State>& state,
                     base::Result<T> result) {
    state->result.emplace(std::move(result));
    boost::asio::post(executor, [state] {
      state->ready = true;
      if (state->wake != nullptr) state->wake->cancel();
    });
  }

  TextQueue& queue_;
  boost::asio::steady_timer wake_;
  std::shared_ptr<State> state_;
  std::shared_ptr<TextQueue::Entry> entry_ = std::make_shared<TextQueue::Entry>();
  bool given_up_ = false;
};

// While this object lives, the task is given up when the client leaves.
template <class T>
class GivenUpOnDisconnect {
 public:
  GivenUpOnDisconnect(net::Responder& responder, TextTask<T>& task) : responder_(responder) {
    responder_.on_disconnect([&task] { task.give_up(); });
  }
  ~GivenUpOnDisconnect() { responder_.on_disconnect({}); }
  GivenUpOnDisconnect(const GivenUpOnDisconnect&) = delete;
  GivenUpOnDisconnect& operator=(const GivenUpOnDisconnect&) = delete;

 private:
  net::Responder& responder_;
};

// Whether work is given up or goes on when its client leaves.
enum class WhenLeft { give_up, go_on };

// Runs short work here and long work on the queue. cancelled: the work was given up.
template <class T>
boost::asio::awaitable<base::Result<T>> run_text_work(TextQueue& queue, Exchange& exchange,
                                                      std::size_t num_bytes, typename TextTask<T>::Work work,
                                                      WhenLeft when_left = WhenLeft::give_up) {
  if (num_bytes <= kSmallBody) co_return work({});
  TextTask<T> task(queue, turn_of(exchange.caller, num_bytes), exchange.responder.executor(),
                   std::move(work));
  std::optional<GivenUpOnDisconnect<T>> watch;
  if (when_left == WhenLeft::give_up) watch.emplace(exchange.responder, task);
  while (!co_await task.wait(std::chrono::hours(1))) continue;
  co_return task.take();
}

}  // namespace kvasir::api

#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "wire/token_event.h"

namespace kvasir::seam {

// The events of one sequence on their way from a worker's thread to the one I/O executor that reads them. The
// worker and the reader share it, and the last owner frees it. Only `send`, `backlog`, `cancelled` and
// `cancel` may be called off the reader's executor, which must not run two handlers at once and whose context
// outlives the last `send`.
class TokenStream : public std::enable_shared_from_this<TokenStream> {
 public:
  struct Delivery {
    std::shared_ptr<TokenStream> stream;
    wire::TokenEvent event;
  };

  // Gets the reader's actions, for a worker that must pass them on. May be called on any thread, and while
  // the stream is being destroyed.
  class Feedback {
   public:
    virtual ~Feedback() = default;
    virtual void on_taken(int num_tokens) = 0;
    virtual void on_cancelled() = 0;  // called once
  };

  explicit TokenStream(boost::asio::any_io_executor reader, std::shared_ptr<Feedback> feedback = nullptr);

  // Worker's side. Delivers a step's events with one post for each reader's executor.
  static void send(std::vector<Delivery> deliveries);
  // Tokens that were sent and not yet taken. A worker leaves a sequence out of its steps while this exceeds
  // its bound, so that a slow reader slows only itself.
  int backlog() const { return backlog_.load(std::memory_order_relaxed); }
  // True once the reader is gone; the worker drops the sequence before its next step.
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }

  // Reader's side. Returns the events since the last call, merged into one, or nothing if `wait` passes
  // first. One call at a time. After an event with last(), it returns nothing at once.
  boost::asio::awaitable<std::optional<wire::TokenEvent>> next(std::chrono::nanoseconds wait);
  // As `next`, without waiting.
  std::optional<wire::TokenEvent> take();
  // Whether the last event was taken.
  bool ended() const { return ended_; }
  // Sets a function that is called on the reader's executor whenever an event has come, so that one coroutine
  // can wait for many streams. Set it before the reader's executor runs anything else; empty: none.
  void on_event(std::function<void()> callback) { on_event_ = std::move(callback); }
  void cancel() {
    if (!cancelled_.exchange(true, std::memory_order_acq_rel) && feedback_) feedback_->on_cancelled();
  }

  const boost::asio::any_io_executor& reader() const { return reader_; }

 private:
  void accept(wire::TokenEvent event);

  boost::asio::any_io_executor reader_;
  const std::shared_ptr<Feedback> feedback_;   // null: no feedback is needed
  boost::asio::steady_timer* wake_ = nullptr;  // the timer in next(); touched on the reader's executor only
  std::function<void()> on_event_;             // touched on the reader's executor only
  std::optional<wire::TokenEvent> pending_;    // touched on the reader's executor only
  bool ended_ = false;  // the last event was taken; touched on the reader's executor only
  std::atomic<int> backlog_{0};
  std::atomic<bool> cancelled_{false};
};

// The reader's end of a stream. If it is destroyed before the last event was taken, the stream is cancelled.
// Move-only; lives and dies on the reader's executor.
class TokenReader {
 public:
  explicit TokenReader(std::shared_ptr<TokenStream> stream) : stream_(std::move(stream)) {}
  ~TokenReader() { leave(); }
  TokenReader(TokenReader&& other) noexcept = default;
  TokenReader& operator=(TokenReader&& other) noexcept {
    leave();
    stream_ = std::move(other.stream_);
    return *this;
  }

  TokenStream* operator->() const { return stream_.get(); }

 private:
  void leave() {
    if (stream_ && !stream_->ended()) stream_->cancel();
  }

  std::shared_ptr<TokenStream> stream_;  // null once moved from
};

}  // namespace kvasir::seam

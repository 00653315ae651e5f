#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "router/residence.h"

namespace kvasir::api {

// Waits on an executor for changes of a model's state. Used and destroyed there.
class ModelWatch {
 public:
  ModelWatch(router::Residence& residence, const std::string& model, router::Residence::Watcher who,
             const boost::asio::any_io_executor& executor)
      : state_(std::make_shared<State>(executor)),
        watch_(residence.watch(model, who, [state = state_, executor] {
          // Hundreds of changes come while a file is fetched. One post reports all changes since the last.
          if (state->is_told.exchange(true)) return;
          boost::asio::post(executor, [state] {
            state->is_told = false;
            state->wake();
          });
        })) {}
  ModelWatch(const ModelWatch&) = delete;
  ModelWatch& operator=(const ModelWatch&) = delete;

  // False if too many watch the model already.
  bool watches() const { return watch_ != nullptr; }
  // Ends the present or next `wait`.
  void wake() { state_->wake(); }
  // Returns once the state has changed since the last call, wake() was called, or after `at_most`.
  boost::asio::awaitable<void> wait(base::Duration at_most) {
    if (!state_->changed) {
      state_->timer.expires_after(std::chrono::duration_cast<boost::asio::steady_timer::duration>(at_most));
      boost::system::error_code ignored;
      co_await state_->timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
    }
    state_->changed = false;
  }

 private:
  struct State {
    explicit State(const boost::asio::any_io_executor& executor) : timer(executor) {}
    void wake() {
      changed = true;
      timer.cancel();
    }
    boost::asio::steady_timer timer;
    bool changed = false;
    std::atomic<bool> is_told = false;  // a handler is posted that has not run yet
  };

  const std::shared_ptr<State> state_;
  const std::unique_ptr<router::Residence::Watch> watch_;
};

}  // namespace kvasir::api

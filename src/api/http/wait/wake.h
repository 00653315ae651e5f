#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>

#include "base/clock.h"

namespace kvasir::api {

// Wakes a coroutine that waits on an executor. Touched on that executor only, except for `call`.
struct Wake {
  explicit Wake(const boost::asio::any_io_executor& executor) : timer(executor) {}

  static std::function<void()> call(const std::shared_ptr<Wake>& wake) {
    return [wake, executor = wake->timer.get_executor()] {
      boost::asio::post(executor, [wake] { wake->timer.cancel(); });
    };
  }
  // Waits for the call. Returns false if the time passed first.
  boost::asio::awaitable<bool> wait(base::Duration at_most) {
    timer.expires_after(std::chrono::duration_cast<boost::asio::steady_timer::duration>(at_most));
    boost::system::error_code cancelled;
    co_await timer.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, cancelled));
    co_return cancelled.failed();
  }

  boost::asio::steady_timer timer;
};

}  // namespace kvasir::api

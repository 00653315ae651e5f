#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <utility>

#include "api/http/service/service.h"
#include "api/http/work/text_task.h"
#include "store/store.h"

namespace kvasir::api {

template <class T>
using StoreWork = std::function<base::Result<T>(store::Store&)>;

// Runs `work` on the store's thread. The work goes on when the client leaves, since a promised or finished
// result must be stored.
template <class T>
boost::asio::awaitable<base::Result<T>> run_on_store(Service& service, boost::asio::any_io_executor executor,
                                                     StoreWork<T> work) {
  TextTask<T> task(
      service.storing, {}, executor,
      [&store = service.store, work = std::move(work)](const std::stop_token&) { return work(store); });
  while (!co_await task.wait(std::chrono::hours(1))) continue;
  co_return task.take();
}

// As above, for a request, whose trace shows how long the work took.
template <class T>
boost::asio::awaitable<base::Result<T>> run_on_store(Service& service, Exchange& exchange,
                                                     StoreWork<T> work) {
  const obs::SpanScope span(*exchange.trace->spans, "store");
  co_return co_await run_on_store<T>(service, exchange.responder.executor(), std::move(work));
}

// Milliseconds since the epoch.
inline std::int64_t now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace kvasir::api

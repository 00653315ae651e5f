#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "api/api_metrics.h"
#include "base/clock.h"
#include "net/http_message.h"
#include "net/responder.h"
#include "router/router.h"
#include "tenancy/admission.h"
#include "wire/token_event.h"

namespace kvasir::api {

struct ServiceOptions {
  int max_json_depth = 64;
  base::Duration ping_interval = std::chrono::seconds(5);
  int num_text_threads = 1;
};

// What the endpoints share. Thread-safe; outlives every request.
struct Service {
  ServiceOptions options;
  router::Router& router;
  tenancy::Admission& admission;
  ApiMetrics& metrics;
  const base::Clock& clock;
  std::atomic<bool> draining{false};
  boost::asio::thread_pool text_pool;  // for requests whose text takes long: I/O threads never do
};

// One request and its answer, on the connection's executor.
struct Exchange {
  net::HttpRequest& request;
  net::Responder& responder;
  std::string id;  // in the x-request-id header
  int status = 0;  // of the answer, once there is one
  // For the log, as far as the request came.
  std::string model;
  wire::Usage usage;
  std::string error;  // its code, or "failed" where it has none
};

boost::asio::awaitable<void> reply(Exchange& exchange, net::HttpResponse response);
boost::asio::awaitable<void> reply_error(Exchange& exchange, const base::Error& error);
void note_error(Exchange& exchange, const base::Error& error);

// Larger than this is worth a hop to the pool: about a millisecond of parsing and tokenizing.
inline constexpr std::size_t kSmallBody = 8 * 1024;

// Runs `work` here where it is short, on the text pool otherwise. What it refers to must outlive the await.
template <class Work>
boost::asio::awaitable<std::invoke_result_t<Work&>> run_text_work(Service& service, std::size_t num_bytes,
                                                                  Work& work) {
  if (num_bytes <= kSmallBody) co_return work();
  std::optional<std::invoke_result_t<Work&>> result;
  auto elsewhere = [&]() -> boost::asio::awaitable<void> {
    result.emplace(work());
    co_return;
  };
  co_await boost::asio::co_spawn(service.text_pool, elsewhere, boost::asio::use_awaitable);
  co_return std::move(*result);
}

}  // namespace kvasir::api

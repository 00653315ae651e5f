#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "api/http/json/fields.h"
#include "api/http/service/service.h"
#include "api/http/work/text_task.h"

namespace kvasir::api {

// Reads an exchange's body, away from the I/O threads if it is large. The exchange keeps only its length.
template <class T>
boost::asio::awaitable<base::Result<T>> read_body(Service& service, Exchange& exchange,
                                                  base::Result<T> (*read)(json::object body)) {
  exchange.num_body_bytes = exchange.request.body.size();
  // Only the work holds the body, so a large body is freed before the answer, which may take long.
  auto body = std::make_shared<const std::string>(std::move(exchange.request.body));
  typename TextTask<T>::Work work =
      [read, body = std::move(body),
       max_depth = service.options.max_json_depth](const std::stop_token&) -> base::Result<T> {
    TRY(json::object object, parse_object(*body, max_depth));
    return read(std::move(object));
  };
  co_return co_await run_text_work<T>(service.reading, exchange, exchange.num_body_bytes, std::move(work));
}

}  // namespace kvasir::api

#include <string>
#include <utility>

#include "api/http/work/compressed_body.h"
#include "api/operations/endpoints.h"

namespace kvasir::api {

namespace asio = boost::asio;

asio::awaitable<void> handle_metrics(Service& service, Exchange& exchange) {
  const obs::Format format = obs::format_for(exchange.request.header("accept").value_or(""));
  net::HttpResponse response(200, std::string(content_type(format)), service.metrics.exposition(format));
  response.headers.emplace_back("Vary", "Accept, Accept-Encoding");
  if (takes_gzip(exchange.request)) {
    response.body = gzip(response.body);
    response.headers.emplace_back("Content-Encoding", "gzip");
  }
  co_await reply(exchange, std::move(response));
}

}  // namespace kvasir::api

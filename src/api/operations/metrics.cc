#include "api/operations/endpoints.h"

namespace kvasir::api {

namespace asio = boost::asio;

asio::awaitable<void> handle_metrics(Service& service, Exchange& exchange) {
  net::HttpResponse response(200, std::string(obs::Registry::kContentType), service.metrics.exposition());
  co_await reply(exchange, std::move(response));
}

}  // namespace kvasir::api

#include <string>

#include "api/operations/docs_page.h"
#include "api/operations/endpoints.h"

namespace kvasir::api {

boost::asio::awaitable<void> handle_docs(Service&, Exchange& exchange) {
  net::HttpResponse response(200, "text/html; charset=utf-8", std::string(kDocsPage));
  co_await reply(exchange, std::move(response));
}

}  // namespace kvasir::api

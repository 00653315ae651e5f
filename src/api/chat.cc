#include <utility>

#include "api/chat_job.h"
#include "api/chat_request.h"
#include "api/endpoints.h"
#include "api/read_body.h"
#include "api/respond.h"

namespace kvasir::api {

using base::Result;

Result<ReadRequest> read_chat_body(Service& service, std::string_view body) {
  TRY(json::object object, parse_object(body, service.options.max_json_depth));
  TRY(ChatRequest request, read_chat_request(std::move(object)));
  return read_chat(service, std::move(request), chat_shape);
}

boost::asio::awaitable<void> handle_chat(Service& service, Exchange& exchange) {
  return respond(service, exchange, read_chat_body, kChatAnswer);
}

}  // namespace kvasir::api

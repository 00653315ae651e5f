#include <string>
#include <string_view>
#include <utility>

#include "api/chat_job.h"
#include "api/endpoints.h"
#include "api/respond.h"
#include "api/responses_request.h"
#include "api/responses_shape.h"

namespace kvasir::api {

using base::Result;

namespace {

Result<ReadRequest> read(Service& service, std::string_view body) {
  TRY(json::object object, parse_object(body, service.options.max_json_depth));
  TRY(ResponsesRequest request, read_responses_request(std::move(object)));
  if (!request.instructions.empty())
    request.chat.messages.push_back(json::object{{"role", "system"}, {"content", request.instructions}});
  TRY(json::array messages, messages_of_items(request.items, 0));
  for (json::value& message : messages) request.chat.messages.push_back(std::move(message));
  auto make_shape = [echo = std::move(request.echo)](AnswerHead head) {
    return responses_shape(std::move(head), echo, {});
  };
  return read_chat(service, std::move(request.chat), std::move(make_shape));
}

}  // namespace

boost::asio::awaitable<void> handle_responses(Service& service, Exchange& exchange) {
  return respond(service, exchange, read, kResponsesAnswer);
}

}  // namespace kvasir::api

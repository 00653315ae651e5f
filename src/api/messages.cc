#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "api/chat_job.h"
#include "api/endpoints.h"
#include "api/messages_request.h"
#include "api/messages_shape.h"
#include "api/prepare.h"
#include "api/respond.h"
#include "api/server_tools.h"
#include "api/text_task.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;

namespace {

Result<ReadRequest> read(Service& service, std::string_view body) {
  TRY(json::object object, parse_object(body, service.options.max_json_depth));
  TRY(MessagesRequest request, read_messages_request(std::move(object)));
  auto make_shape = [stops = std::move(request.stops)](AnswerHead head) {
    return messages_shape(std::move(head), stops);
  };
  return read_chat(service, std::move(request.chat), std::move(make_shape));
}

Result<std::size_t> count(Service& service, std::string_view body, const std::stop_token& stop) {
  TRY(json::object object, parse_object(body, service.options.max_json_depth));
  TRY(ChatRequest chat, read_count_request(std::move(object)));
  TRY_OK(add_server_tools(service.tools, chat.tools));
  TRY(const router::Lease lease, service.router.pick(chat.params.model));
  TRY(const EncodedChat encoded, encode_chat(lease.model(), chat, stop));
  return encoded.tokens.size();
}

}  // namespace

asio::awaitable<void> handle_messages(Service& service, Exchange& exchange) {
  return respond(service, exchange, read, kMessagesAnswer);
}

asio::awaitable<void> handle_count_tokens(Service& service, Exchange& exchange) {
  const auto body = std::make_shared<const std::string>(std::move(exchange.request.body));
  TextTask<std::size_t>::Work work = [&service, body](const std::stop_token& stop) {
    return count(service, *body, stop);
  };
  Result<std::size_t> number =
      co_await run_text_work<std::size_t>(service.tokenizing, exchange, body->size(), std::move(work));
  if (!number.ok()) {
    if (number.error().code == base::ErrorCode::cancelled) co_return;
    co_await reply_error(exchange, number.error());
    co_return;
  }
  const json::object answer{{"input_tokens", *number}};
  co_await reply(exchange, net::HttpResponse::json(200, base::json_text(answer)));
}

}  // namespace kvasir::api

#include <cstddef>
#include <utility>

#include "api/answer/answer.h"
#include "api/answer/count_tokens.h"
#include "api/anthropic/endpoints.h"
#include "api/anthropic/messages_request.h"
#include "api/anthropic/messages_shape.h"
#include "api/http/work/read_body.h"

namespace kvasir::api {

namespace asio = boost::asio;
using base::Result;

namespace {

Result<Question> read_question(json::object body) {
  TRY(MessagesRequest request, read_messages_request(std::move(body)));
  auto make_shape = [stops = std::move(request.stops)](AnswerHead head) {
    return messages_shape(std::move(head), stops);
  };
  return Question(std::move(request.chat), std::move(make_shape));
}

}  // namespace

asio::awaitable<void> handle_messages(Service& service, Exchange& exchange) {
  Result<Question> question = co_await read_body<Question>(service, exchange, read_question);
  if (!question.ok()) co_return co_await reply_error(exchange, std::move(question).error());
  co_await answer(service, exchange, kMessagesAnswer, std::move(*question));
}

asio::awaitable<void> handle_count_tokens(Service& service, Exchange& exchange) {
  Result<ChatRequest> chat = co_await read_body<ChatRequest>(service, exchange, read_count_request);
  if (!chat.ok()) co_return co_await reply_error(exchange, std::move(chat).error());
  Result<std::size_t> number = co_await count_tokens(service, exchange, std::move(*chat));
  if (!number.ok()) co_return co_await reply_error(exchange, std::move(number).error());
  const json::object answer{{"input_tokens", *number}};
  co_await reply(exchange, net::HttpResponse::json(200, base::json_text(answer)));
}

}  // namespace kvasir::api

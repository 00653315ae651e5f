#include <utility>

#include "api/answer/answer.h"
#include "api/answer/question/read_question.h"
#include "api/http/work/read_body.h"
#include "api/openai/endpoints.h"

namespace kvasir::api {

using base::Result;

boost::asio::awaitable<void> handle_chat(Service& service, Exchange& exchange) {
  Result<Question> question = co_await read_body<Question>(service, exchange, read_chat_question);
  if (!question.ok()) co_return co_await reply_error(exchange, std::move(question).error());
  co_await answer(service, exchange, kChatAnswer, std::move(*question));
}

}  // namespace kvasir::api

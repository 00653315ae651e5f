#include <utility>

#include "api/answer/answer.h"
#include "api/http/work/read_body.h"
#include "api/llamacpp/endpoints.h"
#include "api/llamacpp/infill_request.h"
#include "api/llamacpp/infill_shape.h"

namespace kvasir::api {

using base::Result;

namespace {

Result<Question> read_infill_question(json::object body) {
  TRY(InfillRequest request, read_infill_request(std::move(body)));
  return Question(std::move(request.completion),
                  [fields = std::move(request.answer_fields)](AnswerHead head) {
                    return infill_shape(std::move(head), fields);
                  });
}

}  // namespace

boost::asio::awaitable<void> handle_infill(Service& service, Exchange& exchange) {
  Result<Question> question = co_await read_body<Question>(service, exchange, read_infill_question);
  if (!question.ok()) co_return co_await reply_error(exchange, std::move(question).error());
  co_await answer(service, exchange, kInfillAnswer, std::move(*question));
}

}  // namespace kvasir::api

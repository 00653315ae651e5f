#include "api/answer/question/read_question.h"

#include <utility>

#include "api/answer/question/chat_request.h"
#include "api/answer/question/completion_request.h"
#include "api/answer/shape/answer_shape.h"

namespace kvasir::api {

using base::Result;

Result<Question> read_chat_question(json::object body) {
  TRY(ChatRequest request, read_chat_request(std::move(body)));
  MakeShape make_shape = chat_shape(request);
  return Question(std::move(request), std::move(make_shape));
}

Result<Question> read_completion_question(json::object body) {
  TRY(CompletionRequest request, read_completion_request(std::move(body)));
  return Question(std::move(request), completion_shape);
}

}  // namespace kvasir::api

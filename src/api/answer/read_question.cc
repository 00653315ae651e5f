#include "api/answer/read_question.h"

#include <utility>

#include "api/answer/answer_shape.h"
#include "api/answer/chat_request.h"
#include "api/answer/completion_request.h"

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

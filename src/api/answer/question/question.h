#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <variant>

#include "api/answer/job/answer_keeper.h"
#include "api/answer/question/chat_request.h"
#include "api/answer/question/completion_request.h"
#include "api/answer/shape/answer_shape.h"

namespace kvasir::api {

using QuestionText = std::variant<ChatRequest, CompletionRequest>;

// OpenTelemetry's name for the model's operation on such a question.
inline std::string_view operation_of(const QuestionText& text) {
  return std::holds_alternative<ChatRequest>(text) ? "chat" : "text_completion";
}

inline const GenerateParams& params_of(const QuestionText& text) {
  return std::visit([](const auto& request) -> const GenerateParams& { return request.params; }, text);
}

// A request of any API whose fields have been read and whose text has not been tokenized.
struct Question {
  // The constructor is for g++ 12; see net::HttpHeader.
  Question(QuestionText text_in, MakeShape make_shape_in)
      : text(std::move(text_in)), make_shape(std::move(make_shape_in)) {}

  QuestionText text;
  MakeShape make_shape;                            // makes the writer of the answer; called once
  std::shared_ptr<AnswerKeeper> keeper = nullptr;  // null: the answer is not kept
  std::size_t num_other_bytes = 0;                 // bytes of text that did not come with the request's body
  int num_unread_messages = 0;                     // older messages that were not loaded

  const GenerateParams& params() const { return params_of(text); }
};

}  // namespace kvasir::api

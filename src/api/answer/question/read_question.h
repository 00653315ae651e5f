#pragma once

#include "api/answer/question/question.h"

namespace kvasir::api {

// Read the bodies of POST /v1/chat/completions and POST /v1/completions.
base::Result<Question> read_chat_question(json::object body);
base::Result<Question> read_completion_question(json::object body);

}  // namespace kvasir::api

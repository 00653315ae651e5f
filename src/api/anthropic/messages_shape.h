#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/answer/shape/answer_shape.h"

namespace kvasir::api {

// Anthropic's message: a list of blocks, streamed block by block. `stops` are the request's stop sequences.
std::unique_ptr<AnswerShape> messages_shape(AnswerHead head, std::vector<std::string> stops);

}  // namespace kvasir::api

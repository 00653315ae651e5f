#pragma once

#include <functional>
#include <memory>

#include "api/response_shape.h"

namespace kvasir::api {

// What becomes of a response that is there as a whole, whether or not it was streamed.
using KeepResponse = std::function<void(const json::object& response)>;

// OpenAI's response: a list of output items, streamed item by item with numbered events. `echo` is what it
// repeats of its request; `keep` may be empty.
std::unique_ptr<ResponseShape> responses_shape(AnswerHead head, json::object echo, KeepResponse keep);

}  // namespace kvasir::api

#pragma once

#include <memory>

#include "api/answer/answer_shape.h"

namespace kvasir::api {

// OpenAI's response: a list of output items, streamed item by item with numbered events.
class ResponsesShape : public AnswerShape {
 public:
  // The response as a whole, with the ids that a stream has given its items. `sum` is all that there is of
  // the answer; what `chunks` has had of it is not looked at again.
  virtual json::object finished(const Delta& sum, const wire::Usage& usage) = 0;
};

// `echo` is what the response repeats of its request.
std::unique_ptr<ResponsesShape> responses_shape(AnswerHead head, json::object echo);

}  // namespace kvasir::api

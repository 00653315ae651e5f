#pragma once

#include <memory>
#include <string_view>

#include "api/answer/shape/answer_shape.h"
#include "api/responses/responses_tools.h"

namespace kvasir::api {

// OpenAI's response: a list of output items, streamed item by item with numbered events.
class ResponsesShape : public AnswerShape {
 public:
  // Returns the whole response, with the ids that the stream gave to its items. `sum` is the whole answer;
  // the part that `chunks` has written is not processed again.
  virtual json::object finished(const Delta& sum, const wire::Usage& usage) = 0;
  // Returns the response as it is before its first delta.
  virtual json::object begun(std::string_view status) const = 0;
  // Returns a response that was interrupted, with the output so far. `error` is null if nothing failed.
  virtual json::object ended_early(const Delta& sum, const wire::Usage& usage, const base::Error* error) = 0;
};

// `echo` has the settings of the request that the response repeats.
std::unique_ptr<ResponsesShape> responses_shape(AnswerHead head, json::object echo, ClientTools tools = {});

}  // namespace kvasir::api

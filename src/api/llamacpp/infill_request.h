#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/answer/question/completion_request.h"

namespace kvasir::api {

// A checked POST /infill.
struct InfillRequest {
  CompletionRequest completion;                           // its one prompt is the text before the gap
  std::optional<std::vector<std::string>> answer_fields;  // absent: all fields
};

base::Result<InfillRequest> read_infill_request(json::object body);

}  // namespace kvasir::api

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/answer/shape/answer_shape.h"

namespace kvasir::api {

inline constexpr AnswerKind kInfillAnswer = {"infill-"};

// llama.cpp's shape: an object for each answer, streamed as objects of which the last has `stop`. The last
// object has only the fields in `fields`; absent: all fields.
std::unique_ptr<AnswerShape> infill_shape(AnswerHead head, std::optional<std::vector<std::string>> fields);

}  // namespace kvasir::api

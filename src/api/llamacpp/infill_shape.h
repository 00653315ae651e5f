#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/answer/shape/answer_shape.h"

namespace kvasir::api {

inline constexpr AnswerKind kInfillAnswer = {"infill-"};

// llama.cpp's shape: an object for each answer, streamed as objects of which the last has `stop`. `fields`:
// only these fields of the last one; absent: all.
std::unique_ptr<AnswerShape> infill_shape(AnswerHead head, std::optional<std::vector<std::string>> fields);

}  // namespace kvasir::api

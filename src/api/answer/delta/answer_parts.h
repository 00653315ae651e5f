#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/answer/delta/choice.h"

namespace kvasir::api {

// A stretch of an answer that is all of one kind.
struct AnswerPart {
  enum class Kind : std::uint8_t { reasoning, text, call, server_call };

  Kind kind = Kind::text;
  std::string text;  // for a call: its arguments
  int call_index = -1;
  std::string call_id;  // set in the first part of a call, as is the name
  std::string call_name;
  std::optional<ServerCall> server_call;  // as it begins or as it ends

  // Whether this part continues the part that `other` began.
  bool continues(const AnswerPart& other) const {
    return kind == other.kind && kind != Kind::server_call && call_index == other.call_index;
  }
};

// The parts of a delta, in the order in which the model wrote them. A sum of deltas has the same parts as its
// deltas, joined where one continues another. It has the server's calls only as they ended.
std::vector<AnswerPart> parts_of(const Delta& delta);

}  // namespace kvasir::api

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/answer/delta/choice.h"

namespace kvasir::api {

// A piece of an answer that is all of one kind.
struct AnswerPart {
  enum class Kind : std::uint8_t { reasoning, text, call, server_call };

  Kind kind = Kind::text;
  std::string text;  // the arguments, if the part is a call
  int call_index = -1;
  std::string call_id;  // set in the first part of a call only, as `call_name`
  std::string call_name;
  std::optional<ServerCall> server_call;  // the state of the call as it begins or as it ends

  // Whether this part continues what `other` began.
  bool continues(const AnswerPart& other) const {
    return kind == other.kind && kind != Kind::server_call && call_index == other.call_index;
  }
};

// The parts of a delta, in the order in which the model wrote them. A sum of deltas has the parts of its
// deltas, joined where one continues another, but of the server's calls only the ends.
std::vector<AnswerPart> parts_of(const Delta& delta);

}  // namespace kvasir::api

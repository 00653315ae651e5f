#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/answer/choice.h"

namespace kvasir::api {

// A stretch of an answer that is all of one kind.
struct AnswerPart {
  enum class Kind : std::uint8_t { reasoning, text, call, server_call };

  Kind kind = Kind::text;
  std::string text;  // of a call: its arguments
  int call_index = -1;
  std::string call_id;  // with the name, in the first part of a call
  std::string call_name;
  std::optional<ServerCall> server_call;  // as it begins or as it ends

  // Whether this goes on with what `other` began.
  bool continues(const AnswerPart& other) const {
    return kind == other.kind && kind != Kind::server_call && call_index == other.call_index;
  }
};

// What a delta says, in the order in which the model wrote it. The parts of a sum of deltas are theirs,
// joined where one continues another; it has the ends of the server's calls alone.
std::vector<AnswerPart> parts_of(const Delta& delta);

}  // namespace kvasir::api

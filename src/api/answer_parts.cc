#include "api/answer_parts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace kvasir::api {

using Kind = AnswerPart::Kind;

std::vector<AnswerPart> parts_of(const Delta& delta) {
  std::vector<AnswerPart> parts;
  if (!delta.reasoning.empty()) parts.push_back({.kind = Kind::reasoning, .text = delta.reasoning});
  std::size_t at = 0;
  const auto add_text = [&](std::size_t end) {
    end = std::min(end, delta.text.size());
    if (end <= at) return;
    parts.push_back({.kind = Kind::text, .text = delta.text.substr(at, end - at)});
    at = end;
  };
  for (const CallDelta& call : delta.calls) {
    add_text(call.text_before);
    parts.push_back({.kind = Kind::call,
                     .text = call.arguments,
                     .call_index = call.index,
                     .call_id = call.id,
                     .call_name = call.name});
  }
  add_text(delta.text.size());
  return parts;
}

}  // namespace kvasir::api

#include "api/answer/delta/answer_parts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace kvasir::api {

using Kind = AnswerPart::Kind;

namespace {

// Appends the parts of one round, which is the part of `delta` between `from` and `to`.
void add_round(const Delta& delta, const RoundEnd& from, const RoundEnd& to, std::vector<AnswerPart>& parts) {
  if (to.reasoning > from.reasoning)
    parts.push_back({.kind = Kind::reasoning,
                     .text = delta.reasoning.substr(from.reasoning, to.reasoning - from.reasoning)});
  std::size_t at = from.text;
  const auto add_text = [&](std::size_t end) {
    end = std::min(end, to.text);
    if (end <= at) return;
    parts.push_back({.kind = Kind::text, .text = delta.text.substr(at, end - at)});
    at = end;
  };
  for (std::size_t i = from.calls; i < to.calls; ++i) {
    const CallDelta& call = delta.calls[i];
    add_text(call.text_before);
    parts.push_back({.kind = Kind::call,
                     .text = call.arguments,
                     .call_index = call.index,
                     .call_id = call.id,
                     .call_name = call.name});
  }
  add_text(to.text);
  // Server calls are listed in the order in which the model made them, not in the order in which they ended.
  const std::size_t first = parts.size();
  for (std::size_t i = from.server_calls; i < to.server_calls; ++i)
    parts.push_back({.kind = Kind::server_call,
                     .text = delta.server_calls[i].arguments,
                     .server_call = delta.server_calls[i]});
  std::ranges::sort(parts.begin() + static_cast<std::ptrdiff_t>(first), parts.end(), {},
                    [](const AnswerPart& part) { return part.server_call->number; });
}

}  // namespace

std::vector<AnswerPart> parts_of(const Delta& delta) {
  std::vector<AnswerPart> parts;
  RoundEnd from;
  for (const RoundEnd& end : delta.round_ends) {
    add_round(delta, from, end, parts);
    from = end;
  }
  const RoundEnd end{delta.text.size(), delta.reasoning.size(), delta.calls.size(),
                     delta.server_calls.size()};
  add_round(delta, from, end, parts);
  return parts;
}

}  // namespace kvasir::api

#include "bench/answer_event.h"

#include <algorithm>
#include <limits>

#include "base/json.h"

namespace kvasir::bench {

namespace json = boost::json;

namespace {

const json::value* member(const json::value& value, std::string_view name) {
  const json::object* object = value.if_object();
  return object == nullptr ? nullptr : object->if_contains(name);
}

std::string text_member(const json::value& value, std::string_view name) {
  const json::value* found = member(value, name);
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : "";
}

int count_member(const json::value& value, std::string_view name) {
  const json::value* found = member(value, name);
  if (found == nullptr || !found->is_number()) return 0;
  constexpr double kMax = std::numeric_limits<int>::max();
  return static_cast<int>(std::clamp(found->to_number<double>(), 0.0, kMax));
}

void take_tool_calls(const json::value& delta, AnswerEvent& event) {
  const json::value* calls = member(delta, "tool_calls");
  if (calls == nullptr || !calls->is_array()) return;
  for (const json::value& call : calls->as_array()) {
    const json::value* function = member(call, "function");
    if (function == nullptr) continue;
    event.text += text_member(*function, "name") + text_member(*function, "arguments");
  }
}

void take_choice(const json::value& choice, AnswerEvent& event) {
  if (const json::value* delta = member(choice, "delta")) {
    for (const std::string_view name : {"reasoning_content", "reasoning", "content"})
      event.text += text_member(*delta, name);
    take_tool_calls(*delta, event);
  }
  event.text += text_member(choice, "text");
  event.generated = !event.text.empty();
  event.finish_reason = text_member(choice, "finish_reason");
}

std::optional<Usage> usage_of(const json::value& event) {
  const json::value* found = member(event, "usage");
  if (found == nullptr || !found->is_object()) return std::nullopt;
  Usage usage{.prompt_tokens = count_member(*found, "prompt_tokens"),
              .output_tokens = count_member(*found, "completion_tokens")};
  if (const json::value* details = member(*found, "prompt_tokens_details"))
    usage.cached_tokens = count_member(*details, "cached_tokens");
  return usage;
}

}  // namespace

base::Result<AnswerEvent> parse_answer_event(std::string_view data) {
  AnswerEvent event;
  if (data == "[DONE]") {
    event.done = true;
    return event;
  }
  const auto parsed = base::parse_json(data);
  if (!parsed.ok())
    return base::error(base::ErrorCode::corrupt, "an event that is no JSON: {}", parsed.error().message);
  if (!parsed->is_object())
    return base::error(base::ErrorCode::corrupt, "an event that is no object: {}", data.substr(0, 80));
  if (const json::value* error = member(*parsed, "error"); error != nullptr && !error->is_null()) {
    event.error = text_member(*error, "message");
    if (event.error.empty()) event.error = json::serialize(*error);
    return event;
  }
  event.usage = usage_of(*parsed);
  const json::value* choices = member(*parsed, "choices");
  if (choices == nullptr || !choices->is_array()) {
    if (!event.usage)
      return base::error(base::ErrorCode::corrupt, "an event without choices: {}", data.substr(0, 80));
    return event;
  }
  for (const json::value& choice : choices->as_array()) take_choice(choice, event);
  return event;
}

}  // namespace kvasir::bench

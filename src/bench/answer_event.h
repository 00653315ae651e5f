#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kvasir::bench {

// What the server counted.
struct Usage {
  int prompt_tokens = 0;
  int output_tokens = 0;
  int cached_tokens = 0;  // of the prompt, taken from a cache, as far as the server says
};

// One event of a streamed chat completion or completion.
struct AnswerEvent {
  std::string text;        // what was generated: content, reasoning or a tool call's arguments
  bool generated = false;  // it carries something generated
  bool done = false;       // "[DONE]"
  std::string finish_reason;
  std::string error;  // the server's own words
  std::optional<Usage> usage;
};

// `corrupt` where it is not JSON or not such an event.
base::Result<AnswerEvent> parse_answer_event(std::string_view data);

}  // namespace kvasir::bench

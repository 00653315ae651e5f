#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kvasir::bench {

// The token counts that a server reports.
struct Usage {
  int prompt_tokens = 0;
  int output_tokens = 0;
  int cached_tokens = 0;  // prompt tokens from a cache, if the server reports them
};

// One event of a streamed chat completion or completion.
struct AnswerEvent {
  std::string text;        // generated: content, reasoning or a tool call's arguments
  bool generated = false;  // the event has generated output
  bool done = false;       // "[DONE]"
  std::string finish_reason;
  std::string error;  // the server's message, if the event is an error
  std::optional<Usage> usage;
};

// Fails with `corrupt` if `data` is not JSON or not such an event.
base::Result<AnswerEvent> parse_answer_event(std::string_view data);

}  // namespace kvasir::bench

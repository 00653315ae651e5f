#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kvasir::bench {

// Token counts that the server reports.
struct Usage {
  int prompt_tokens = 0;
  int output_tokens = 0;
  int cached_tokens = 0;  // prompt tokens from a cache, if the server reports them
};

// One event of a streamed chat completion or completion.
struct AnswerEvent {
  std::string text;        // generated text: content, reasoning or a tool call's arguments
  bool generated = false;  // has generated output
  bool done = false;       // "[DONE]"
  std::string finish_reason;
  std::string error;  // the server's message
  std::optional<Usage> usage;
};

// `corrupt` if it is not JSON or not such an event.
base::Result<AnswerEvent> parse_answer_event(std::string_view data);

}  // namespace kvasir::bench

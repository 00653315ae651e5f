#pragma once

#include <cstddef>
#include <stop_token>
#include <string>
#include <vector>

#include "api/answer/chat_request.h"
#include "api/answer/prepare.h"
#include "router/model_text.h"

namespace kvasir::api {

// Where the turns of a chat begin: a user's message with all that follows it up to the next one. What comes
// before the first turn (the system prompt) belongs to none.
struct Turns {
  std::vector<std::size_t> starts;  // indices into the messages, ascending
  std::size_t num_messages = 0;

  std::size_t size() const { return starts.size(); }
  std::size_t begin() const { return starts.empty() ? num_messages : starts.front(); }
  // Where the turns from `turn` on begin.
  std::size_t start_of(std::size_t turn) const { return turn < starts.size() ? starts[turn] : num_messages; }
};
Turns turns_of(const json::array& messages);

struct FittedChat {
  EncodedChat encoded;
  // Of the oldest turns, so many do not fit: `encoded` is without them.
  std::size_t num_left_out = 0;
};

// Tokens of a summary, at the most.
int max_summary_tokens(int context_length);

// The prompt of as many turns as the policy of `request` needs for a fit, the last one always among them.
// With `summarize` there is room for a summary where anything is left out.
base::Result<FittedChat> fit_chat(const router::ChatText& model, const ChatRequest& request,
                                  const std::stop_token& stop);

// The messages without their first `num_turns` turns. A summary of those becomes part of the system prompt.
json::array without_turns(const json::array& messages, std::size_t num_turns, const std::string& summary);

}  // namespace kvasir::api

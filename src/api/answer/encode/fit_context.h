#pragma once

#include <cstddef>
#include <stop_token>
#include <string>
#include <vector>

#include "api/answer/encode/prompt.h"
#include "api/answer/question/chat_request.h"
#include "router/model_text.h"

namespace kvasir::api {

// Where the turns of a chat begin. A turn is a user's message with all messages up to the next user's
// message. System messages before the first turn belong to no turn.
struct Turns {
  std::vector<std::size_t> starts;  // indices into the messages, ascending
  std::size_t num_messages = 0;

  std::size_t size() const { return starts.size(); }
  std::size_t begin() const { return starts.empty() ? num_messages : starts.front(); }
  // The index of the first message of `turn`.
  std::size_t start_of(std::size_t turn) const { return turn < starts.size() ? starts[turn] : num_messages; }
};
Turns turns_of(const json::array& messages);

struct FittedChat {
  EncodedChat encoded;
  // How many of the oldest turns did not fit. `encoded` is without them.
  std::size_t num_left_out = 0;
};

// The most tokens that a summary may have.
int max_summary_tokens(int context_length);

// Encodes as many of the latest turns as fit, by the request's context policy. The last turn is always among
// them. If the policy is `summarize` and turns are left out, room for a summary is kept.
base::Result<FittedChat> fit_chat(const router::ChatText& model, const ChatRequest& request,
                                  const std::stop_token& stop);

// The messages without their first `num_turns` turns. A `summary` that is not empty is added to the system
// prompt.
json::array without_turns(const json::array& messages, std::size_t num_turns, const std::string& summary);

}  // namespace kvasir::api

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/http/fields.h"

namespace kvasir::api {

// What is done with messages that do not fit into a model's context.
enum class ContextPolicy : std::uint8_t {
  error,           // the request is refused
  sliding_window,  // the oldest turns are left out
  summarize,       // the model writes a summary of the oldest turns, which takes their place
};
std::string_view name_of(ContextPolicy policy);
base::Result<ContextPolicy> read_context_policy(const json::value& value);

// What a model was given of what the client sent, and what it may answer.
struct ContextReport {
  ContextPolicy policy = ContextPolicy::error;
  bool asked = false;  // the client chose the policy, so it hears of it even where nothing was left out
  int window = 0;      // tokens of prompt and answer together
  int prompt_tokens = 0;
  int max_tokens = 0;  // of the answer
  std::optional<int> requested_max_tokens;
  int dropped_messages = 0;
  int dropped_turns = 0;
  int summarized_messages = 0;
  int summarized_turns = 0;
  std::string summary;

  // max_tokens is less than what was asked for.
  bool clipped() const { return requested_max_tokens && *requested_max_tokens > max_tokens; }
  bool worth_telling() const { return asked || clipped() || dropped_messages + summarized_messages > 0; }
};

json::object context_object(const ContextReport& report);
// "policy=sliding_window; dropped_messages=4; ...": for a header.
std::string context_header(const ContextReport& report);

}  // namespace kvasir::api

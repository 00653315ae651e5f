#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/http/json/fields.h"

namespace kvasir::api {

// How to treat messages that do not fit into a model's context.
enum class ContextPolicy : std::uint8_t {
  error,           // the request is refused
  sliding_window,  // the oldest turns are left out
  summarize,       // the model writes a summary of the oldest turns, which takes their place
};
std::string_view name_of(ContextPolicy policy);
base::Result<ContextPolicy> read_context_policy(const json::value& value);

// How much of the client's messages the model got, and how long its answer may be.
struct ContextReport {
  ContextPolicy policy = ContextPolicy::error;
  bool asked = false;  // the client chose the policy, so it gets a report even if nothing was left out
  int window = 0;      // tokens of prompt and answer together
  int prompt_tokens = 0;
  int max_tokens = 0;  // the longest answer
  std::optional<int> requested_max_tokens;
  int dropped_messages = 0;
  int dropped_turns = 0;
  int summarized_messages = 0;
  int summarized_turns = 0;
  std::string summary;

  // Whether max_tokens is less than the client asked for.
  bool clipped() const { return requested_max_tokens && *requested_max_tokens > max_tokens; }
  bool worth_telling() const { return asked || clipped() || dropped_messages + summarized_messages > 0; }
};

json::object context_object(const ContextReport& report);
// The report as a header: "policy=sliding_window; dropped_messages=4; ...".
std::string context_header(const ContextReport& report);

}  // namespace kvasir::api

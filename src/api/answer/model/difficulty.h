#pragma once

#include <cstddef>
#include <string_view>

namespace kvasir::api {

// What is known of a question before a model reads it.
struct QuestionTraits {
  std::string_view asked;           // the newest message of the user, or the prompt
  std::string_view earlier = {};    // of the messages before it
  std::size_t num_token_bytes = 0;  // text that came as token ids and is not in `asked`; an estimate
  std::string_view effort = {};     // OpenAI's reasoning_effort; empty: not given
  bool thinks = false;              // thinking is switched on
  bool has_tools = false;           // the model may call tools of the client
  bool has_server_tools = false;    // the model may call tools of this server
  bool has_format = false;          // the output is structured
  int priority = 0;                 // of the caller's tier
};

// Only so many bytes at each end of a text are read, so that the time is bounded: under 0.2 ms.
inline constexpr std::size_t kReadBytes = 16 * 1024;

// From 0 (any model can answer) to 1. A guess by length, code, words of reasoning and what the request asks
// for beside text. Pure.
double difficulty(const QuestionTraits& traits);

// A question this difficult or more goes to the larger model.
inline constexpr double kHard = 0.4;

}  // namespace kvasir::api

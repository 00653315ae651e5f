#pragma once

#include <cstddef>
#include <string_view>

namespace kvasir::api {

// The facts about a question that are known before a model reads it.
struct QuestionTraits {
  std::string_view asked;           // the newest message of the user, or the prompt
  std::string_view earlier = {};    // the messages before it
  std::size_t num_token_bytes = 0;  // estimated size of text that came as token ids and is not in `asked`
  std::string_view effort = {};     // OpenAI's reasoning_effort; empty if not given
  bool thinks = false;              // thinking is switched on
  bool has_tools = false;           // the model may call tools of the client
  bool has_server_tools = false;    // the model may call tools of this server
  bool has_format = false;          // the output is structured
  int priority = 0;                 // the priority of the caller's tier
};

// Only this many bytes at each end of a text are read, so that reading takes less than 0.2 ms.
inline constexpr std::size_t kReadBytes = 16 * 1024;

// How difficult the question is, from 0 (any model can answer it) to 1. This is a guess by length, code,
// words that ask for reasoning, and what the request asks for besides text. Pure.
double difficulty(const QuestionTraits& traits);

// A question this difficult or more goes to the larger model.
inline constexpr double kHard = 0.4;

}  // namespace kvasir::api

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "wire/token_event.h"

namespace kvasir::api {

// A model's call of a tool that runs on this server.
struct ServerCall {
  enum class Status : std::uint8_t { in_progress, completed, failed };

  int number = 0;  // its place among the calls of the answer, from 0
  int round = 1;   // calls of one round run concurrently
  std::string id;
  std::string name;
  std::string arguments;  // JSON, as the model wrote it
  Status status = Status::in_progress;
  std::string output;  // set once the call has ended
  double duration_ms = 0;

  bool ended() const { return status != Status::in_progress; }
};

// A part of an answer that called this server's tools, with the results of all its calls.
struct ToolRound {
  std::string text;
  std::string reasoning;
  std::vector<ServerCall> calls;
  wire::Usage usage;
};

// A call as JSON, for events and for whole answers.
base::json::object server_call_object(const ServerCall& call);

// {"id", "type": "function", "function": {"name", "arguments"}}
base::json::object function_call_object(const ServerCall& call);

}  // namespace kvasir::api

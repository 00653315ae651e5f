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

  int number = 0;  // counted within the answer
  int round = 1;   // calls of one round run concurrently
  std::string id;
  std::string name;
  std::string arguments;  // as the model wrote them
  Status status = Status::in_progress;
  std::string output;  // set once the call has ended
  double duration_ms = 0;

  bool ended() const { return status != Status::in_progress; }
};

// A part of an answer that ended in calls of this server's tools, after all of them have ended.
struct ToolRound {
  std::string text;
  std::string reasoning;
  std::vector<ServerCall> calls;
  wire::Usage usage;
};

// The JSON of a call in events and in whole answers.
base::json::object server_call_object(const ServerCall& call);

// {"id", "type": "function", "function": {"name", "arguments"}}
base::json::object function_call_object(const ServerCall& call);

}  // namespace kvasir::api

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "wire/token_event.h"

namespace kvasir::api {

// A model's call of a tool that this server runs.
struct ServerCall {
  enum class Status : std::uint8_t { in_progress, completed, failed };

  int number = 0;  // within the answer
  int round = 1;   // calls of one round run side by side
  std::string id;
  std::string name;
  std::string arguments;  // as the model wrote them
  Status status = Status::in_progress;
  std::string output;  // once it has ended
  double duration_ms = 0;

  bool ended() const { return status != Status::in_progress; }
};

// A stretch of an answer that ended in such calls, once all of them have ended.
struct ToolRound {
  std::string text;
  std::string reasoning;
  std::vector<ServerCall> calls;
  wire::Usage usage;
};

// As clients see it, in events and in whole answers.
base::json::object server_call_object(const ServerCall& call);

// {"id", "type": "function", "function": {"name", "arguments"}}
base::json::object function_call_object(const ServerCall& call);

}  // namespace kvasir::api

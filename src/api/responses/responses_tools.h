#pragma once

#include <string>
#include <vector>

#include "api/answer/question/custom_tools.h"
#include "api/answer/question/tools.h"

namespace kvasir::api {

struct ResponseTools {
  ToolSettings settings;
  ClientTools client_tools;
  std::vector<std::string> warnings;  // about tools that were left out
};

// Reads the request's tools, tool_choice, parallel_tool_calls and server_tools. The tools of namespaces join
// the flat list; tools that OpenAI runs on its own servers are left out.
base::Result<ResponseTools> read_response_tools(const json::object& body);

}  // namespace kvasir::api

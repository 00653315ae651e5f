#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/answer/tools.h"

namespace kvasir::api {

// A tool as the client knows it. The model sees every tool as a function in one flat list.
struct ClientTool {
  std::string name;
  std::string name_space;  // empty: none
  bool is_custom = false;  // its input is text, which the model writes as the argument "input"
};
// By the name that the model sees. Plain functions are absent.
using ClientTools = std::map<std::string, ClientTool, std::less<>>;

struct ResponseTools {
  ToolSettings settings;
  ClientTools client_tools;
  std::vector<std::string> warnings;  // about tools that were left out, and grammars that are not enforced
};

// Reads tools, tool_choice, parallel_tool_calls and server_tools of a response's request. The tools of
// namespaces join the flat list; tools that OpenAI runs on its own servers are left out.
base::Result<ResponseTools> read_response_tools(const json::object& body);

// The name that the model sees for a tool of a namespace.
std::string flat_tool_name(std::string_view name_space, std::string_view name);

// The arguments that stand for the input of a custom tool, and the input of such arguments. The latter is
// empty if the arguments are incomplete.
json::object custom_arguments(std::string_view input);
std::string custom_input(std::string_view arguments);

}  // namespace kvasir::api

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace kvasir::config {

// One `[[tools]]` entry of the settings file: a tool that the server itself calls when a model asks for it.
// Headers and environment may contain secrets, so they are never printed.
struct ToolConfig {
  enum class Kind : std::uint8_t {
    http,       // arguments are posted to `url`
    mcp_stdio,  // an MCP server that is a child process
    mcp_http,   // an MCP server at `url`
  };
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  Kind kind = Kind::http;
  std::string name;
  std::string description;  // only for an HTTP tool
  std::string parameters;   // only for an HTTP tool: a JSON schema, as text
  std::string url;
  Pairs headers;
  std::string command;
  std::vector<std::string> args;
  Pairs env;
  double timeout_s = 30;                    // per call
  std::size_t max_output_bytes = 16 << 10;  // per call; the rest of a result is cut off
};

}  // namespace kvasir::config

#include "api/answer/server_tools/server_tools.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

// Words the toolbox's error for a name that is unknown or that is unavailable now.
Error find_error(Error error) {
  if (error.code == ErrorCode::not_found) return wrong_value(std::move(error.message));
  error.reason = "tool_unavailable";
  return error;
}

Status add_definition(tool::Definition definition, ToolSettings& settings) {
  const auto same = [&](const ToolSettings::Tool& other) { return other.name == definition.name; };
  if (const auto it = std::ranges::find_if(settings.tools, same); it != settings.tools.end()) {
    if (it->on_server) return base::ok();  // it is named twice: by itself and by its server
    return wrong_value(fmt::format("\"{}\" is the name of a function of the request", definition.name));
  }
  settings.definitions.push_back(
      json::object{{"type", "function"},
                   {"function", json::object{{"name", definition.name},
                                             {"description", definition.description},
                                             {"parameters", definition.parameters}}}});
  settings.tools.push_back({.name = std::move(definition.name),
                            .parameters = std::move(definition.parameters),
                            .on_server = true});
  return base::ok();
}

Status add_named(const tool::Toolbox* toolbox, const std::string& name, ToolSettings& settings) {
  if (toolbox == nullptr) return wrong_value("this server has no tools of its own");
  Result<std::vector<tool::Definition>> found = toolbox->find(name);
  if (!found.ok()) return find_error(std::move(found).error());
  for (tool::Definition& definition : *found) TRY_OK(add_definition(std::move(definition), settings));
  return base::ok();
}

}  // namespace

Status add_server_tools(const tool::Toolbox* toolbox, ToolSettings& settings) {
  for (std::size_t i = 0; i < settings.server_tools.size(); ++i)
    if (Status added = add_named(toolbox, settings.server_tools[i], settings); !added.ok())
      return in_field("server_tools", in_field(fmt::format("[{}]", i), std::move(added).error()));
  return check_tool_choice(settings);
}

}  // namespace kvasir::api

#include "api/responses/responses_tools.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <utility>

namespace kvasir::api {

using base::Error;
using base::Result;
using base::Status;

namespace {

// Kinds of tools that are left out: OpenAI runs them itself, or only its models know how to call them.
constexpr std::array<std::string_view, 12> kLeftOut{"web_search",
                                                    "file_search",
                                                    "computer",
                                                    "computer_use_preview",
                                                    "code_interpreter",
                                                    "image_generation",
                                                    "mcp",
                                                    "local_shell",
                                                    "apply_patch",
                                                    "shell",
                                                    "tool_search",
                                                    "programmatic_tool_calling"};

// Returns the kind of a tool that is left out; empty: the tool is kept. Dated and preview names mean the same
// kind, e.g. web_search_preview_2025_03_11.
std::string_view left_out_kind(std::string_view type) {
  if (type.starts_with("web_search_")) return kLeftOut.front();
  const auto found = std::ranges::find(kLeftOut, type);
  return found == kLeftOut.end() ? std::string_view() : *found;
}

bool is_left_out(std::string_view type) {
  return !left_out_kind(type).empty();
}

std::string_view type_of(const json::object& tool) {
  const json::value* type = tool.if_contains("type");
  return type != nullptr && type->is_string() ? std::string_view(type->get_string()) : std::string_view();
}

std::string_view name_of(const json::object& tool) {
  const json::value* name = tool.if_contains("name");
  return name != nullptr && name->is_string() ? std::string_view(name->get_string()) : std::string_view();
}

// Converts {"type": "function", "name": …} to a chat's form.
json::object as_chat_function(const json::object& flat) {
  json::object function;
  for (const auto& [key, value] : flat)
    if (key != "type") function[key] = value;
  json::object chat;
  if (const json::value* type = flat.if_contains("type")) chat["type"] = *type;
  chat["function"] = std::move(function);
  return chat;
}

// Collects the tools of a request in the form of a chat's tools.
class ToolList {
 public:
  explicit ToolList(ResponseTools& out) : out_(out) {}

  Status add(const json::value& value, const std::string& place, std::string_view name_space) {
    if (!value.is_object()) {
      push(value, place);  // its error is found later, with those of other tools
      return base::ok();
    }
    const json::object& tool = value.get_object();
    const std::string_view type = type_of(tool);
    if (type == "namespace" && name_space.empty()) return add_namespace(tool, place);
    if (type == "custom") return add_custom(tool, place, name_space);
    if (const std::string_view kind = left_out_kind(type); !kind.empty()) {
      warn_once(kind, fmt::format("{}: left out, this server has no tool of type {}", place, kind));
      return base::ok();
    }
    json::object function = tool;
    if (!name_space.empty()) rename(function, name_space, {.is_custom = false});
    push(as_chat_function(function), place);
    return base::ok();
  }

  json::array take() { return std::move(functions_); }

  // Gives each tool that was read from the list the grammar of its input.
  void add_grammars(std::vector<ToolSettings::Tool>& tools) {
    for (ToolSettings::Tool& tool : tools)
      if (const auto found = formats_.find(tool.name); found != formats_.end()) {
        tool.lark = found->second.lark;
        tool.lark_field = found->second.lark_field;
      }
  }

  // Changes the place in an error from the index in the flat list to the tool's place in the request.
  Error relocated(Error error) const {
    constexpr std::string_view kBegin = "tools[";
    if (!error.field.starts_with(kBegin)) return error;
    std::size_t index = 0;
    const char* begin = error.field.data() + kBegin.size();
    const auto [end, code] = std::from_chars(begin, error.field.data() + error.field.size(), index);
    if (code == std::errc() && index < places_.size())
      error.field =
          places_[index] + error.field.substr(static_cast<std::size_t>(end - error.field.data()) + 1);
    return error;
  }

 private:
  Status add_namespace(const json::object& tool, const std::string& place) {
    const std::string_view name = name_of(tool);
    if (name.empty()) return in_field(place, in_field("name", missing("the name of a namespace")));
    const json::value* tools = tool.if_contains("tools");
    if (tools == nullptr || !tools->is_array())
      return in_field(place, in_field("tools", tools == nullptr ? missing("an array of tools")
                                                                : wrong_type("an array of tools", *tools)));
    for (std::size_t i = 0; i < tools->get_array().size(); ++i)
      TRY_OK(add(tools->get_array()[i], fmt::format("{}.tools[{}]", place, i), name));
    return base::ok();
  }

  // Adds a custom tool as a function whose one argument is the tool's input.
  Status add_custom(const json::object& tool, const std::string& place, std::string_view name_space) {
    auto format = read_custom_format(tool);
    if (!format.ok()) return in_field(place, std::move(format).error());
    json::object function = function_of_custom(tool, *format);
    function["type"] = "function";
    rename(function, name_space, {.is_custom = true});
    if (!format->lark.empty()) {
      format->lark_field = place + format->lark_field;
      formats_.emplace(name_of(function), std::move(*format));
    }
    push(as_chat_function(function), place);
    return base::ok();
  }

  // Adds one warning for each kind, however many tools there are: warnings are also sent as headers.
  void warn_once(std::string_view kind, std::string warning) {
    if (warned_.insert(kind).second) out_.warnings.push_back(std::move(warning));
  }

  void rename(json::object& function, std::string_view name_space, ClientTool tool) {
    const std::string_view name = name_of(function);
    if (name.empty()) return;
    tool.name = name;
    tool.name_space = name_space;
    std::string flat = flat_tool_name(name_space, name);
    function["name"] = flat;
    out_.client_tools.emplace(std::move(flat), std::move(tool));
  }

  void push(json::value function, const std::string& place) {
    functions_.push_back(std::move(function));
    places_.push_back(place);
  }

  ResponseTools& out_;
  json::array functions_;
  std::vector<std::string> places_;
  std::set<std::string_view> warned_;
  std::map<std::string, CustomFormat, std::less<>> formats_;  // those with a Lark grammar, by flat names
};

// Converts the tool that a tool_choice names to a chat's form.
json::object as_named_function(json::object tool) {
  const json::value* name_space = tool.if_contains("namespace");
  if (name_space != nullptr && name_space->is_string())
    tool["name"] = flat_tool_name(name_space->get_string(), name_of(tool));
  if (type_of(tool) == "custom") tool["type"] = "function";
  return as_chat_function(tool);
}

// Converts {"type": "allowed_tools", "mode": …, "tools": […]}, or a tool, to a chat's form.
Result<json::object> as_chat_choice(const json::object& flat) {
  if (is_left_out(type_of(flat))) return in_field("type", unknown_tool_type(flat.at("type")));
  if (type_of(flat) != "allowed_tools") return as_named_function(flat);
  json::object allowed;
  for (const auto& [key, value] : flat)
    if (key != "type") allowed[key] = value;
  if (json::value* tools = allowed.if_contains("tools"); tools != nullptr && tools->is_array()) {
    json::array named;
    for (const json::value& tool : tools->get_array()) {
      const bool left_out = tool.is_object() && is_left_out(type_of(tool.get_object()));
      if (!left_out) named.push_back(tool.is_object() ? as_named_function(tool.get_object()) : tool);
    }
    *tools = std::move(named);
  }
  return json::object{{"type", "allowed_tools"}, {"allowed_tools", std::move(allowed)}};
}

}  // namespace

Result<ResponseTools> read_response_tools(const json::object& body) {
  ResponseTools out;
  json::object chat;
  for (const char* key : {"tools", "tool_choice", "parallel_tool_calls", "server_tools"})
    if (const json::value* value = body.if_contains(key)) chat[key] = *value;
  ToolList list(out);
  if (json::value* tools = chat.if_contains("tools"); tools != nullptr && tools->is_array()) {
    for (std::size_t i = 0; i < tools->get_array().size(); ++i)
      TRY_OK(list.add(tools->get_array()[i], fmt::format("tools[{}]", i), ""));
    *tools = list.take();
  }
  if (json::value* choice = chat.if_contains("tool_choice"); choice != nullptr && choice->is_object()) {
    auto converted = as_chat_choice(choice->get_object());
    if (!converted.ok()) return in_field("tool_choice", std::move(converted).error());
    *choice = std::move(*converted);
  }
  auto settings = read_flat_tools(chat, "parameters");
  if (!settings.ok()) return list.relocated(std::move(settings).error());
  out.settings = std::move(*settings);
  list.add_grammars(out.settings.tools);
  return out;
}

}  // namespace kvasir::api

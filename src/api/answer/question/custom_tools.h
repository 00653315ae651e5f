#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

// Custom tools take a text as their input. The model writes this text as the one argument of a function.
namespace kvasir::api {

namespace json = boost::json;

// A tool as the client knows it. The model sees every tool as a function in one flat list.
struct ClientTool {
  std::string name;
  std::string name_space;  // empty: none
  bool is_custom = false;
};
// The client's tools by the name that the model sees. Plain functions are not listed.
using ClientTools = std::map<std::string, ClientTool, std::less<>>;

// The form that the input of a custom tool must have.
struct CustomFormat {
  std::string pattern;     // a regular expression; empty: none
  std::string lark;        // a Lark grammar; empty: none
  std::string lark_field;  // the place of the grammar in the tool, e.g. ".format.definition"
};

// Reads the member "format" of a custom tool, which may be absent. In responses the grammar is in the format
// itself; in chats it is in the format's member "grammar".
base::Result<CustomFormat> read_custom_format(const json::object& tool);

// The function that stands for a custom tool. The model sees the grammar in its description or its schema.
json::object function_of_custom(const json::object& tool, const CustomFormat& format);

// The name that the model sees for a tool of a namespace.
std::string flat_tool_name(std::string_view name_space, std::string_view name);

}  // namespace kvasir::api

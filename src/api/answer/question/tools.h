#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/answer/delta/choice.h"
#include "api/answer/question/structured_output.h"
#include "api/http/json/fields.h"
#include "api/http/json/object_schema.h"
#include "router/model_text.h"

namespace kvasir::api {

// The checked tools of a request.
struct ToolSettings {
  enum class Choice : std::uint8_t { none, automatic, required };
  struct Tool {
    std::string name;
    json::value parameters;  // a JSON schema
    bool strict = false;
    bool on_server = false;       // runs on this server, not on the client
    bool is_custom = false;       // a chat's custom tool, whose input is the function's one argument
    std::string lark = {};        // a grammar of a custom tool's input; empty if there is none
    std::string lark_field = {};  // the place of that grammar in the request
  };

  json::array definitions;  // the tools in the request's form, for the template
  std::vector<Tool> tools;
  Choice choice = Choice::automatic;
  std::string named;  // the one tool that must be called; `choice` is then `required`
  bool parallel = true;
  std::vector<std::string> server_tools;             // names of this server's tools that the model may call
  std::string schema_path = ".function.parameters";  // place of a tool's schema, for errors
  std::vector<std::string> warnings;                 // about what tools ask for and do not get

  void move_warnings_to(std::vector<std::string>& all);
  bool may_call() const { return choice != Choice::none && !tools.empty(); }
};

// Reads tools, server_tools, tool_choice and parallel_tool_calls. `add_server_tools` later looks up the names
// in `server_tools`.
base::Result<ToolSettings> read_tools(const json::object& body);
void describe_tools(ObjectSchema& schema);
inline constexpr std::string_view kServerToolsSchema =
    R"({"type": "array", "maxItems": 128, "items": {"type": "string"},
        "description": "Tools of this server, by the names of its settings: it runs them itself."})";
// Reads tools of APIs whose tools have no inner "function" and name their parameters `schema_key`. `chat` has
// the form that `read_tools` reads; errors name the client's own fields.
base::Result<ToolSettings> read_flat_tools(const json::object& chat, std::string_view schema_key);

// The error for a tool whose `type` does not exist here.
base::Error unknown_tool_type(const json::value& type);

// A warning about what the grammars of custom tools do not enforce with this format. Empty if there is
// nothing to warn of. `format` is the result of `format_with_tools`.
std::string grammar_warning(const ToolSettings& tools, const std::optional<OutputFormat>& format);

// Checks that `tool_choice` asks for tools that the request has.
base::Status check_tool_choice(const ToolSettings& settings);

// The format that makes the answer's calls valid: a grammar of calls, a grammar of calls and text, or
// `format` itself if nothing may be called. Absent if no grammar is needed or possible.
base::Result<std::optional<OutputFormat>> format_with_tools(const ToolSettings& tools,
                                                            std::optional<OutputFormat> format,
                                                            text::ToolSyntax syntax);

// How to parse the answer. `format` is the result of `format_with_tools`.
AnswerReading answer_reading(const ToolSettings& tools, const std::optional<OutputFormat>& format,
                             const router::ChatText& model, text::AnswerSyntax::Reasoning reasoning);

// Writes the tools, earlier calls and their results into plain messages, for templates that do not support
// tools.
void write_tools_as_text(const json::array& definitions, json::array& messages);

}  // namespace kvasir::api

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/answer/choice.h"
#include "api/answer/structured_output.h"
#include "api/http/fields.h"
#include "api/http/object_schema.h"
#include "router/model_text.h"

namespace kvasir::api {

// The tools of a request, checked.
struct ToolSettings {
  enum class Choice : std::uint8_t { none, automatic, required };
  struct Tool {
    std::string name;
    json::value parameters;  // a JSON schema
    bool strict = false;
    bool on_server = false;  // run here, not by the client
  };

  json::array definitions;  // as the request has them, for the template
  std::vector<Tool> tools;
  Choice choice = Choice::automatic;
  std::string named;  // the one tool that is to be called; `choice` is required then
  bool parallel = true;
  std::vector<std::string> server_tools;             // names of this server's own that the model may call
  std::string schema_path = ".function.parameters";  // of a tool, for errors

  bool may_call() const { return choice != Choice::none && !tools.empty(); }
};

// Reads tools, server_tools, tool_choice and parallel_tool_calls. What the names of `server_tools` stand for
// comes later (`add_server_tools`).
base::Result<ToolSettings> read_tools(const json::object& body);
void describe_tools(ObjectSchema& schema);
inline constexpr std::string_view kServerToolsSchema =
    R"({"type": "array", "maxItems": 128, "items": {"type": "string"},
        "description": "Tools of this server, by the names of its settings: it runs them itself."})";
// For an API whose tools have no "function" inside and call the parameters `schema_key`: `chat` is as
// `read_tools` wants it, errors name what the client wrote.
base::Result<ToolSettings> read_flat_tools(const json::object& chat, std::string_view schema_key);

// That what `tool_choice` wants is there.
base::Status check_tool_choice(const ToolSettings& settings);

// What the answer has to be so that its calls are what the request says: a grammar of calls, or of calls and
// text, or `format` itself where nothing may be called. None: no grammar.
base::Result<std::optional<OutputFormat>> format_with_tools(const ToolSettings& tools,
                                                            std::optional<OutputFormat> format,
                                                            text::ToolSyntax syntax);

// How the answer is to be taken apart. `format` is what `format_with_tools` gave.
AnswerReading answer_reading(const ToolSettings& tools, const std::optional<OutputFormat>& format,
                             const router::ChatText& model, text::AnswerSyntax::Reasoning reasoning);

// Says in plain messages what a template that knows no tools would leave out: the tools, the calls of earlier
// turns and what came of them.
void write_tools_as_text(const json::array& definitions, json::array& messages);

}  // namespace kvasir::api

#include "api/answer/question/tools.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/answer/question/custom_tools.h"
#include "api/answer/question/generate_params.h"
#include "api/answer/shape/custom_input.h"
#include "grammar/schema_check.h"
#include "grammar/tool_calls.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;
using Syntax = text::AnswerSyntax;

namespace {

constexpr std::size_t kMaxTools = 128;
constexpr std::size_t kMaxName = 128;
constexpr std::uint32_t kMaxCalls = 32;  // the most calls of one answer, if parallel calls are allowed

bool is_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= kMaxName && std::ranges::all_of(name, allowed);
}

Result<std::string> read_name(const json::object& object) {
  const json::value* name = object.if_contains("name");
  if (name == nullptr || name->is_null()) return in_field("name", missing("the name of a function"));
  auto text = read_string(*name);
  if (!text.ok()) return in_field("name", std::move(text).error());
  if (!is_name(*text))
    return in_field("name", wrong_value("expected up to 128 letters, digits, underscores, dashes and dots"));
  return text;
}

// The name of the member that describes a tool, which is also the tool's type.
std::string_view kind_of(const json::value& value) {
  const json::value* type = value.is_object() ? value.get_object().if_contains("type") : nullptr;
  return type != nullptr && *type == "custom" ? "custom" : "function";
}

// Reads the inner object of {"type": "function", "function": {…}} or {"type": "custom", "custom": {…}}.
Result<const json::object*> read_function(const json::value& value) {
  if (!value.is_object()) return wrong_type("an object", value);
  const json::value* type = value.get_object().if_contains("type");
  const std::string_view kind = kind_of(value);
  if (type != nullptr && *type != json::value(kind)) return in_field("type", unknown_tool_type(*type));
  const json::value* function = value.get_object().if_contains(kind);
  if (function == nullptr) return in_field(kind, missing("an object with a \"name\""));
  if (!function->is_object()) return in_field(kind, wrong_type("an object", *function));
  return &function->get_object();
}

// Reads the tool's name in the inner object.
Result<std::string> read_named(const json::value& value) {
  TRY(const json::object* function, read_function(value));
  auto name = read_name(*function);
  if (!name.ok()) return in_field(kind_of(value), std::move(name).error());
  return name;
}

// Options of a tool that newer APIs have.
struct Extras {
  bool is_async = false;
  bool is_deferred = false;
};

constexpr Field<Extras> kExtras[] = {
    {"allowed_callers",
     [](const json::value& v, Extras&) -> Status {
       if (!v.is_array()) return wrong_type("an array", v);
       const json::array& callers = v.get_array();
       if (callers.empty() || std::ranges::find(callers, json::value("direct")) != callers.end())
         return base::ok();
       return not_supported("a tool that only programs call is");
     }},
    {"async",
     [](const json::value& v, Extras& extras) -> Status {
       TRY(extras.is_async, read_bool(v));
       return base::ok();
     }},
    {"defer_loading",
     [](const json::value& v, Extras& extras) -> Status {
       TRY(extras.is_deferred, read_bool(v));
       return base::ok();
     }},
};

// Adds each line only once, however many tools cause it, since warnings are also headers.
void warn_once(std::string line, std::vector<std::string>& warnings) {
  if (std::ranges::find(warnings, line) == warnings.end()) warnings.push_back(std::move(line));
}

Status read_extras(const json::object& function, std::vector<std::string>& warnings) {
  Extras extras;
  TRY_OK(read_fields<Extras>(function, kExtras, extras));
  if (extras.is_async) warn_once("tools: async is ignored, the result of each call is awaited", warnings);
  if (extras.is_deferred)
    warn_once("tools: defer_loading is ignored, all tools are offered from the beginning", warnings);
  return base::ok();
}

Result<ToolSettings::Tool> read_tool(const json::value& value, std::vector<std::string>& warnings) {
  TRY(const json::object* function, read_function(value));
  if (Status status = read_extras(*function, warnings); !status.ok())
    return in_field("function", std::move(status).error());
  ToolSettings::Tool tool;
  auto name = read_name(*function);
  if (!name.ok()) return in_field("function", std::move(name).error());
  tool.name = std::move(*name);
  const json::value* description = function->if_contains("description");
  if (description != nullptr && !description->is_null() && !description->is_string())
    return in_field("function", in_field("description", wrong_type("a string", *description)));
  const json::value* parameters = function->if_contains("parameters");
  tool.parameters = json::object{{"type", "object"}, {"properties", json::object()}};
  if (parameters != nullptr && !parameters->is_null()) {
    if (!parameters->is_object())
      return in_field("function", in_field("parameters", wrong_type("a JSON schema", *parameters)));
    if (!parameters->get_object().empty()) tool.parameters = *parameters;
  }
  const json::value* strict = function->if_contains("strict");
  if (strict != nullptr && !strict->is_null()) {
    auto flag = read_bool(*strict);
    if (!flag.ok()) return in_field("function", in_field("strict", std::move(flag).error()));
    tool.strict = *flag;
  }
  return tool;
}

// Reads a custom tool of a chat, and replaces it by the function that stands for it.
Result<ToolSettings::Tool> read_custom(json::value& value, std::size_t index,
                                       std::vector<std::string>& warnings) {
  TRY(const json::object* custom, read_function(value));
  auto format = read_custom_format(*custom);
  if (!format.ok()) return in_field("custom", std::move(format).error());
  json::value function =
      json::object{{"type", "function"}, {"function", function_of_custom(*custom, *format)}};
  auto tool = read_tool(function, warnings);
  if (!tool.ok()) {
    Error error = std::move(tool).error();
    constexpr std::string_view kFunction = "function";
    if (error.field.starts_with(kFunction)) error.field.replace(0, kFunction.size(), "custom");
    return error;
  }
  tool->is_custom = true;
  if (!format->lark.empty()) tool->lark_field = fmt::format("tools[{}].custom{}", index, format->lark_field);
  tool->lark = std::move(format->lark);
  value = std::move(function);
  return tool;
}

Status read_definitions(const json::value& value, ToolSettings& settings) {
  if (!value.is_array()) return wrong_type("an array of tools", value);
  settings.definitions = value.get_array();
  if (settings.definitions.size() > kMaxTools)
    return Error{ErrorCode::invalid_argument,
                 fmt::format("expected at most {} tools, got {}", kMaxTools, settings.definitions.size()),
                 {},
                 "array_above_max_length"};
  for (std::size_t i = 0; i < settings.definitions.size(); ++i) {
    const bool is_custom = kind_of(settings.definitions[i]) == "custom";
    auto tool = is_custom ? read_custom(settings.definitions[i], i, settings.warnings)
                          : read_tool(settings.definitions[i], settings.warnings);
    if (!tool.ok()) return in_field(fmt::format("[{}]", i), std::move(tool).error());
    if (std::ranges::find(settings.tools, tool->name, &ToolSettings::Tool::name) != settings.tools.end())
      return in_field(fmt::format("[{}]", i),
                      wrong_value(fmt::format("\"{}\" is the name of another tool", tool->name)));
    settings.tools.push_back(std::move(*tool));
  }
  return base::ok();
}

Status read_server_tools(const json::value& value, ToolSettings& settings) {
  if (!value.is_array()) return wrong_type("an array of names", value);
  if (value.get_array().size() > kMaxTools)
    return wrong_value(fmt::format("expected at most {} names, got {}", kMaxTools, value.get_array().size()));
  for (std::size_t i = 0; i < value.get_array().size(); ++i) {
    auto name = read_string(value.get_array()[i]);
    if (!name.ok()) return in_field(fmt::format("[{}]", i), std::move(name).error());
    settings.server_tools.push_back(std::move(*name));
  }
  return base::ok();
}

// Reads {"mode": "auto" or "required", "tools": […]}. The prompt lists all tools, but the model may call only
// these.
Status read_allowed(const json::value* value, ToolSettings& settings) {
  if (value == nullptr) return missing("an object with \"mode\" and \"tools\"");
  if (!value->is_object()) return wrong_type("an object", *value);
  const json::value* mode = value->get_object().if_contains("mode");
  if (mode == nullptr || (*mode != "auto" && *mode != "required"))
    return in_field("mode", wrong_value("expected auto or required"));
  const json::value* list = value->get_object().if_contains("tools");
  if (list == nullptr || !list->is_array() || list->get_array().empty())
    return in_field("tools", wrong_value("expected an array of at least one tool"));
  std::vector<ToolSettings::Tool> allowed;
  for (std::size_t i = 0; i < list->get_array().size(); ++i) {
    auto name = read_named(list->get_array()[i]);
    if (!name.ok()) return in_field(fmt::format("tools[{}]", i), std::move(name).error());
    const auto known = std::ranges::find(settings.tools, *name, &ToolSettings::Tool::name);
    if (known == settings.tools.end())
      return in_field(fmt::format("tools[{}]", i),
                      wrong_value(fmt::format("no tool is named \"{}\"", *name)));
    if (std::ranges::find(allowed, *name, &ToolSettings::Tool::name) == allowed.end())
      allowed.push_back(*known);
  }
  settings.tools = std::move(allowed);
  settings.choice = *mode == "required" ? ToolSettings::Choice::required : ToolSettings::Choice::automatic;
  return base::ok();
}

Status read_choice(const json::value& value, ToolSettings& settings) {
  using Choice = ToolSettings::Choice;
  if (value.is_string()) {
    const std::string_view word = value.get_string();
    if (word != "none" && word != "auto" && word != "required")
      return wrong_value(fmt::format("expected none, auto, required or an object, got \"{}\"", word));
    settings.choice = word == "none" ? Choice::none : word == "auto" ? Choice::automatic : Choice::required;
    return base::ok();
  }
  if (!value.is_object()) return wrong_type("a string or an object", value);
  const json::object& object = value.get_object();
  if (const json::value* type = object.if_contains("type"); type != nullptr && *type == "allowed_tools") {
    if (Status status = read_allowed(object.if_contains("allowed_tools"), settings); !status.ok())
      return in_field("allowed_tools", std::move(status).error());
    return base::ok();
  }
  TRY(settings.named, read_named(value));
  settings.choice = Choice::required;
  return base::ok();
}

constexpr Field<ToolSettings> kToolsFields[] = {
    {"tools", read_definitions,
     R"({"type": "array", "maxItems": 128, "items": {"anyOf": [{"type": "object", "required": ["function"],
         "properties": {"type": {"const": "function"}, "function": {"type": "object", "required": ["name"],
           "properties": {
             "name": {"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,128}$"},
             "description": {"type": ["string", "null"], "description": "For the model."},
             "parameters": {"type": ["object", "null"], "description": "A JSON schema."},
             "strict": {"type": ["boolean", "null"]}}}}},
         {"type": "object", "required": ["type", "custom"],
          "properties": {"type": {"const": "custom"}, "custom": {"type": "object", "required": ["name"],
           "properties": {
             "name": {"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,128}$"},
             "description": {"type": ["string", "null"], "description": "For the model."},
             "format": {"description": "What the input may be.", "anyOf": [{"type": "null"},
               {"type": "object", "required": ["type"], "properties": {"type": {"const": "text"}}},
               {"type": "object", "required": ["type", "grammar"], "properties": {"type": {"const": "grammar"},
                 "grammar": {"type": "object", "required": ["syntax", "definition"], "properties": {
                   "syntax": {"enum": ["lark", "regex"]},
                   "definition": {"type": "string", "minLength": 1}}}}}]}}}}}]},
         "description": "What the model may call: functions, and custom tools, whose input is a text."})"},
    {"tool_choice", read_choice,
     R"({"anyOf": [{"enum": ["none", "auto", "required"]},
          {"type": "object", "required": ["function"], "properties": {"type": {"const": "function"},
            "function": {"type": "object", "required": ["name"], "properties": {
              "name": {"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,128}$"}}}}},
          {"type": "object", "required": ["type", "custom"], "properties": {"type": {"const": "custom"},
            "custom": {"type": "object", "required": ["name"], "properties": {
              "name": {"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,128}$"}}}}},
          {"type": "object", "required": ["type", "allowed_tools"], "properties": {
            "type": {"const": "allowed_tools"}, "allowed_tools": {"type": "object",
              "required": ["mode", "tools"], "properties": {"mode": {"enum": ["auto", "required"]},
                "tools": {"type": "array", "minItems": 1, "items": {"type": "object"}}}}}}],
         "description": "auto where there are tools."})"},
    {"server_tools", read_server_tools, kServerToolsSchema},
    {"parallel_tool_calls",
     [](const json::value& v, ToolSettings& s) -> Status {
       TRY(s.parallel, read_bool(v));
       return base::ok();
     },
     R"({"type": "boolean", "default": true, "description": "Several calls in one answer."})"},
};

grammar::ToolCallText text_of(const text::CallText& text) {
  return {.begin = std::string(text.begin),
          .before_name = std::string(text.before_name),
          .after_name = std::string(text.after_name),
          .after = std::string(text.after),
          .separator = std::string(text.separator),
          .end = std::string(text.end),
          .trigger = std::string(text.trigger)};
}

bool is_strict(const ToolSettings& tools) {
  return std::ranges::any_of(tools.tools, &ToolSettings::Tool::strict);
}

}  // namespace

Result<ToolSettings> read_tools(const json::object& body) {
  ToolSettings settings;
  TRY_OK(read_fields<ToolSettings>(body, kToolsFields, settings));
  if (!settings.server_tools.empty() && settings.tools.size() < settings.definitions.size())
    return in_field("tool_choice", not_supported("\"allowed_tools\" together with \"server_tools\" is"));
  if (settings.server_tools.empty()) TRY_OK(check_tool_choice(settings));
  return settings;
}

void ToolSettings::move_warnings_to(std::vector<std::string>& all) {
  std::ranges::move(std::exchange(warnings, {}), std::back_inserter(all));
}

Status check_tool_choice(const ToolSettings& settings) {
  if (settings.choice != ToolSettings::Choice::required) return base::ok();
  if (settings.tools.empty())
    return in_field("tool_choice", wrong_value("only allowed together with \"tools\""));
  const auto named = [&](const ToolSettings::Tool& tool) { return tool.name == settings.named; };
  if (settings.named.empty() || std::ranges::any_of(settings.tools, named)) return base::ok();
  return in_field("tool_choice", wrong_value(fmt::format("no tool is named \"{}\"", settings.named)));
}

base::Error unknown_tool_type(const json::value& type) {
  if (!type.is_string()) return wrong_type("a string", type);
  return not_supported(fmt::format("a tool of type \"{}\" is", std::string_view(type.get_string())));
}

void describe_tools(ObjectSchema& schema) {
  schema.add<ToolSettings>(kToolsFields);
}

Result<ToolSettings> read_flat_tools(const json::object& chat, std::string_view schema_key) {
  auto settings = read_tools(chat);
  if (settings.ok()) {
    settings->schema_path = fmt::format(".{}", schema_key);
    return settings;
  }
  Error error = std::move(settings).error();
  constexpr std::string_view kInside = ".function";
  constexpr std::string_view kSchema = ".parameters";
  if (const std::size_t at = error.field.find(kInside); at != std::string::npos)
    error.field.erase(at, kInside.size());
  if (const std::size_t at = error.field.find(kSchema); at != std::string::npos)
    error.field.replace(at + 1, kSchema.size() - 1, schema_key);
  return error;
}

Result<std::optional<OutputFormat>> format_with_tools(const ToolSettings& tools,
                                                      std::optional<OutputFormat> format,
                                                      text::ToolSyntax syntax) {
  if (!tools.may_call()) return format;
  const bool required = tools.choice == ToolSettings::Choice::required;
  const text::CallText& text = text::call_text(syntax);
  grammar::ToolCallGrammar calls{.text = text_of(text)};
  if (required || format) calls.text.trigger.clear();
  if (format && !required) {
    using Kind = grammar::GrammarSource::Kind;
    if (format->source.kind != Kind::json_schema && format->source.kind != Kind::json_object)
      return in_field(format->field, not_supported("a structure other than JSON together with tools is"));
    calls.otherwise = json::object{{"type", "object"}};
    if (format->source.kind == Kind::json_schema) {
      auto schema = base::parse_json(format->source.text);
      if (!schema.ok()) return format_error(*format, std::move(schema).error());
      calls.otherwise = std::move(*schema);
    }
  } else if (!required && text.trigger.empty()) {
    // This model does not mark where a call begins, so no grammar can be enforced.
    if (is_strict(tools))
      return in_field("tools", not_supported("\"strict\" with this model and a tool_choice of \"auto\" is"));
    return std::optional<OutputFormat>();
  }
  for (const ToolSettings::Tool& tool : tools.tools)
    if (tools.named.empty() || tools.named == tool.name)
      calls.tools.push_back({.name = tool.name,
                             .schema = tool.parameters,
                             .strict = tool.strict,
                             .lark = tool.lark,
                             .lark_argument = std::string(kCustomInput),
                             .lark_field = tool.lark_field});
  const bool several = tools.parallel && tools.named.empty() && text.separator != "; ";
  calls.max_calls = several ? kMaxCalls : 1;
  return std::optional(OutputFormat{
      .source = {.kind = grammar::GrammarSource::Kind::tool_calls, .text = tool_calls_text(calls)},
      .field = "tools",
      .schema_path = tools.schema_path});
}

std::string grammar_warning(const ToolSettings& tools, const std::optional<OutputFormat>& format) {
  if (!tools.may_call() || (format && format->source.kind == grammar::GrammarSource::Kind::tool_calls))
    return {};
  const auto unenforced =
      std::ranges::find_if(tools.tools, [](const auto& tool) { return !tool.lark.empty(); });
  if (unenforced == tools.tools.end()) return {};
  return fmt::format(
      "{}: shown to the model and not enforced, since this model does not mark its calls; a "
      "tool_choice of \"required\" enforces it",
      unenforced->lark_field);
}

AnswerReading answer_reading(const ToolSettings& tools, const std::optional<OutputFormat>& format,
                             const router::ChatText& model, Syntax::Reasoning reasoning) {
  AnswerReading reading;
  if (!tools.may_call() && reasoning == Syntax::Reasoning::none) return reading;
  auto syntax = std::make_shared<Syntax>();
  syntax->reasoning = reasoning;
  syntax->syntax = text::tool_syntax_of(model.tokenizer->chat_template());
  if (tools.may_call()) {
    const bool enforced = format && format->source.kind == grammar::GrammarSource::Kind::tool_calls;
    const bool required = tools.choice == ToolSettings::Choice::required;
    syntax->calls = required   ? Syntax::Calls::required
                    : enforced ? Syntax::Calls::after_trigger
                               : Syntax::Calls::looked_for;
    for (const ToolSettings::Tool& tool : tools.tools) {
      auto fits = [schema = tool.parameters](const json::value& arguments) {
        return grammar::fits_schema(arguments, schema);
      };
      syntax->tools.push_back({tool.name, std::move(fits)});
    }
    for (const std::string_view marker : text::special_markers(syntax->syntax)) {
      const auto token = model.tokenizer->find(marker);
      if (token && model.tokenizer->is_special(*token)) reading.markers.push_back(*token);
    }
  }
  reading.syntax = std::move(syntax);
  return reading;
}

}  // namespace kvasir::api

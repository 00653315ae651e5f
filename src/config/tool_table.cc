#include "config/tool_table.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/json.h"

namespace kvasir::config {

namespace json = boost::json;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t kMaxName = 40;  // leaves room for a tool's own name within a function's name
constexpr std::array kKeys = {"name",    "type", "description", "parameters", "url",          "headers",
                              "command", "args", "env",         "timeout_s",  "max_output_kb"};

base::Error wrong(std::string_view key, std::string_view expected) {
  return base::error(ErrorCode::invalid_argument, "{}: expected {}", key, expected);
}

bool is_tool_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kMaxName && std::ranges::all_of(name, allowed) &&
         name.find("__") == std::string_view::npos && name.back() != '_';
}

// Whether the text has no character that could end a header.
bool is_header_text(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

Status take_string(const toml::table& table, std::string_view key, std::string& into) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return base::ok();
  const auto* text = node->as_string();
  if (text == nullptr) return wrong(key, "a string");
  into = text->get();
  return base::ok();
}

Status take_pairs(const toml::table& table, std::string_view key, ToolConfig::Pairs& into) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return base::ok();
  const toml::table* pairs = node->as_table();
  if (pairs == nullptr) return wrong(key, "a table of strings");
  for (const auto& [name, value] : *pairs) {
    const auto* text = value.as_string();
    if (text == nullptr || name.str().empty() || text->get().find('\0') != std::string::npos)
      return wrong(key, "a table of strings");
    into.emplace_back(std::string(name.str()), text->get());
  }
  return base::ok();
}

Status take_args(const toml::table& table, ToolConfig& tool) {
  const toml::node* node = table.get("args");
  if (node == nullptr) return base::ok();
  const toml::array* array = node->as_array();
  if (array == nullptr) return wrong("args", "an array of strings");
  for (const toml::node& element : *array) {
    const auto* text = element.as_string();
    if (text == nullptr) return wrong("args", "an array of strings");
    tool.args.push_back(text->get());
  }
  return base::ok();
}

Status take_number(const toml::table& table, std::string_view key, std::pair<double, double> range,
                   double& into) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return base::ok();
  const auto number = node->value<double>();
  if (!node->is_number() || !number || !(*number >= range.first && *number <= range.second))
    return wrong(key, fmt::format("a number from {} to {}", range.first, range.second));
  into = *number;
  return base::ok();
}

Result<json::value> json_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return json::value(text->get());
  if (const auto* flag = node.as_boolean()) return json::value(flag->get());
  if (const auto* whole = node.as_integer()) return json::value(whole->get());
  if (const auto* number = node.as_floating_point()) return json::value(number->get());
  if (const auto* array = node.as_array()) {
    json::array values;
    for (const toml::node& element : *array) {
      TRY(json::value value, json_of(element));
      values.push_back(std::move(value));
    }
    return json::value(std::move(values));
  }
  if (const auto* table = node.as_table()) {
    json::object object;
    for (const auto& [key, element] : *table) {
      TRY(object[key.str()], json_of(element));
    }
    return json::value(std::move(object));
  }
  return wrong("parameters", "a JSON schema, which has no dates");
}

// Takes a table or the text of a JSON object.
Status take_parameters(const toml::table& table, ToolConfig& tool) {
  json::value schema = json::object{{"type", "object"}, {"properties", json::object()}};
  if (const toml::node* node = table.get("parameters"); node != nullptr) {
    if (const auto* text = node->as_string()) {
      auto parsed = base::parse_json(text->get());
      if (!parsed.ok()) return wrong("parameters", "a JSON schema; the text is " + parsed.error().message);
      schema = std::move(*parsed);
    } else {
      TRY(schema, json_of(*node));
    }
    if (!schema.is_object()) return wrong("parameters", "a table, or the text of a JSON object");
  }
  tool.parameters = base::json_text(schema);
  return base::ok();
}

Result<ToolConfig::Kind> kind_of_row(const ToolConfig& tool, std::string_view type) {
  using Kind = ToolConfig::Kind;
  if (!type.empty() && type != "http" && type != "mcp") return wrong("type", "\"http\" or \"mcp\"");
  if (tool.url.empty() == tool.command.empty()) return wrong("url", "either this or \"command\"");
  if (!tool.command.empty() && type == "http") return wrong("url", "the address of an HTTP tool");
  if (!tool.command.empty()) return Kind::mcp_stdio;
  return type == "mcp" ? Kind::mcp_http : Kind::http;
}

Status check_row(const toml::table& table, const ToolConfig& tool) {
  using Kind = ToolConfig::Kind;
  const auto only_for = [&](bool allowed, std::string_view key, std::string_view whose) -> Status {
    if (allowed || !table.contains(key)) return base::ok();
    return base::error(ErrorCode::invalid_argument, "{}: only {} has it", key, whose);
  };
  if (!is_tool_name(tool.name))
    return wrong("name", "up to 40 letters, digits, dashes and single underscores");
  if (!tool.url.empty() && !tool.url.starts_with("http://") && !tool.url.starts_with("https://"))
    return wrong("url", "an address that begins with http:// or https://");
  for (const auto& [name, value] : tool.headers)
    if (!is_header_text(name) || !is_header_text(value) || name.find_first_of(": ") != std::string::npos)
      return wrong("headers", "names and values of one line each");
  if (tool.kind == Kind::http && tool.description.empty())
    return wrong("description", "a sentence that tells the model what the tool does");
  TRY_OK(only_for(tool.kind == Kind::http, "description", "an HTTP tool"));
  TRY_OK(only_for(tool.kind == Kind::http, "parameters", "an HTTP tool"));
  TRY_OK(only_for(tool.kind != Kind::mcp_stdio, "headers", "a tool with a url"));
  TRY_OK(only_for(tool.kind == Kind::mcp_stdio, "args", "a tool with a command"));
  TRY_OK(only_for(tool.kind == Kind::mcp_stdio, "env", "a tool with a command"));
  return base::ok();
}

Result<ToolConfig> read_row(const toml::table& table) {
  for (const auto& [key, value] : table)
    if (std::ranges::find(kKeys, key.str()) == kKeys.end())
      return base::error(ErrorCode::invalid_argument, "'{}' is not a key of a tool; expected one of {}",
                         key.str(), fmt::join(kKeys, ", "));
  ToolConfig tool;
  std::string type;
  TRY_OK(take_string(table, "name", tool.name));
  TRY_OK(take_string(table, "type", type));
  TRY_OK(take_string(table, "description", tool.description));
  TRY_OK(take_string(table, "url", tool.url));
  TRY_OK(take_string(table, "command", tool.command));
  TRY_OK(take_pairs(table, "headers", tool.headers));
  TRY_OK(take_pairs(table, "env", tool.env));
  TRY_OK(take_args(table, tool));
  TRY_OK(take_number(table, "timeout_s", {0.01, 3600}, tool.timeout_s));
  double max_output_kb = static_cast<double>(tool.max_output_bytes >> 10);
  TRY_OK(take_number(table, "max_output_kb", {1, 1024}, max_output_kb));
  tool.max_output_bytes = static_cast<std::size_t>(max_output_kb * 1024);
  TRY(tool.kind, kind_of_row(tool, type));
  TRY_OK(take_parameters(table, tool));
  TRY_OK(check_row(table, tool));
  return tool;
}

}  // namespace

Result<std::vector<ToolConfig>> read_tool_table(const toml::node& node, const std::string& path) {
  const auto at = [&](const toml::node& place, std::string_view what) {
    return base::error(ErrorCode::invalid_argument, "{}:{}: tools: {}", path, place.source().begin.line,
                       what);
  };
  const toml::array* rows = node.as_array();
  if (rows == nullptr) return at(node, "expected [[tools]] tables");
  std::vector<ToolConfig> tools;
  for (const toml::node& row : *rows) {
    const toml::table* table = row.as_table();
    if (table == nullptr) return at(row, "expected [[tools]] tables");
    auto tool = read_row(*table);
    if (!tool.ok()) return at(row, tool.error().message);
    if (std::ranges::find(tools, tool->name, &ToolConfig::name) != tools.end())
      return at(row, fmt::format("two are called '{}'", tool->name));
    tools.push_back(std::move(*tool));
  }
  return tools;
}

}  // namespace kvasir::config

#include "api/answer/question/structured_output.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "api/answer/question/generate_params.h"

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Status;
using Kind = grammar::GrammarSource::Kind;

namespace {

// The output format of one request. A request with two is refused.
struct Wanted {
  std::optional<OutputFormat> format;
  std::vector<std::string> warnings = {};
};

Status want(Kind kind, std::string text, std::string_view field, Wanted& wanted) {
  if (wanted.format)
    return wrong_value(
        fmt::format("only one structure may be asked for, and \"{}\" does already", wanted.format->field));
  wanted.format =
      OutputFormat{.source = {.kind = kind, .text = std::move(text)}, .field = std::string(field)};
  return base::ok();
}

// Reads a schema, or a string that contains one, which some clients send.
Status want_schema(const json::value& value, std::string_view field, Wanted& wanted) {
  if (value.is_string()) return want(Kind::json_schema, std::string(value.get_string()), field, wanted);
  if (!value.is_object() && !value.is_bool()) return wrong_type("a JSON schema", value);
  return want(Kind::json_schema, base::json_text(value), field, wanted);
}

Status want_text(Kind kind, const json::value& value, std::string_view field, Wanted& wanted) {
  TRY(std::string text, read_string(value));
  return want(kind, std::move(text), field, wanted);
}

Status want_choice(const json::value& value, std::string_view field, Wanted& wanted) {
  if (!value.is_array()) return wrong_type("an array of strings", value);
  if (value.get_array().empty()) return wrong_value("expected at least one string");
  for (const json::value& item : value.get_array())
    if (!item.is_string()) return wrong_type("strings", item);
  return want(Kind::choice, base::json_text(value), field, wanted);
}

Status want_object(const json::value& value, std::string_view field, Wanted& wanted) {
  TRY(const bool wants, read_bool(value));
  return wants ? want(Kind::json_object, {}, field, wanted) : base::ok();
}

Status read_named_schema(const json::object& format, Wanted& wanted) {
  const json::value* named = format.if_contains("json_schema");
  if (named == nullptr || !named->is_object())
    return in_field("json_schema", missing("an object with a \"schema\""));
  static constexpr Field<Wanted> kKnown[] = {
      {"name", nullptr}, {"description", nullptr}, {"schema", nullptr}, {"strict", nullptr}};
  warn_of_others<Wanted>(named->get_object(), kKnown, "response_format.json_schema.", wanted.warnings);
  const json::value* schema = named->get_object().if_contains("schema");
  if (schema == nullptr || schema->is_null())
    return in_field("json_schema", in_field("schema", missing("a JSON schema")));
  if (Status status = want_schema(*schema, "response_format.json_schema.schema", wanted); !status.ok())
    return in_field("json_schema", in_field("schema", std::move(status).error()));
  return base::ok();
}

Status read_response_format(const json::value& value, Wanted& wanted) {
  if (!value.is_object()) return wrong_type("an object", value);
  const json::object& format = value.get_object();
  static constexpr Field<Wanted> kKnown[] = {
      {"type", nullptr}, {"json_schema", nullptr}, {"schema", nullptr}};
  warn_of_others<Wanted>(format, kKnown, "response_format.", wanted.warnings);
  const json::value* type = format.if_contains("type");
  if (type == nullptr || !type->is_string())
    return in_field("type", missing("\"text\", \"json_object\" or \"json_schema\""));
  const std::string_view name = type->get_string();
  if (name == "text") return base::ok();
  if (name == "json_schema") return read_named_schema(format, wanted);
  if (name != "json_object")
    return in_field("type", not_supported(fmt::format("the format \"{}\" is", name)));
  const json::value* schema = format.if_contains("schema");
  if (schema != nullptr && !schema->is_null()) return want_schema(*schema, "response_format.schema", wanted);
  return want(Kind::json_object, {}, "response_format", wanted);
}

Status read_structured_outputs(const json::value& value, Wanted& wanted) {
  if (!value.is_object()) return wrong_type("an object", value);
  bool compact = false;
  for (const auto& [key, item] : value.get_object()) {
    if (item.is_null()) continue;
    const std::string field = fmt::format("structured_outputs.{}", std::string_view(key));
    Status status = base::ok();
    if (key == "json")
      status = want_schema(item, field, wanted);
    else if (key == "regex")
      status = want_text(Kind::regex, item, field, wanted);
    else if (key == "choice")
      status = want_choice(item, field, wanted);
    else if (key == "grammar")
      status = want_text(Kind::ebnf, item, field, wanted);
    else if (key == "json_object")
      status = want_object(item, field, wanted);
    else if (key == "disable_any_whitespace") {
      auto flag = read_bool(item);
      if (!flag.ok()) return in_field(std::string_view(key), std::move(flag).error());
      compact = *flag;
    } else if (!item.is_bool() || item.get_bool())
      status = not_supported("this field is");
    if (!status.ok()) return in_field(std::string_view(key), std::move(status).error());
  }
  if (compact && wanted.format) wanted.format->source.json.max_whitespace = 0;
  return base::ok();
}

constexpr Field<Wanted> kStructuredOutputFields[] = {
    {"response_format", read_response_format,
     R"({"anyOf": [
          {"type": "object", "required": ["type"], "properties": {"type": {"const": "text"}}},
          {"type": "object", "required": ["type"],
           "properties": {"type": {"const": "json_object"},
                          "schema": {"type": ["object", "boolean", "string", "null"]}}},
          {"type": "object", "required": ["type", "json_schema"], "properties": {
            "type": {"const": "json_schema"},
            "json_schema": {"type": "object", "required": ["schema"], "properties": {
              "schema": {"type": ["object", "boolean", "string"]}}}}}],
         "description": "What the answer has to be. One such field may be given."})"},
    {"structured_outputs", read_structured_outputs,
     R"({"type": "object", "properties": {
          "json": {"type": ["object", "boolean", "string", "null"]}, "regex": {"type": ["string", "null"]},
          "choice": {"type": ["array", "null"], "minItems": 1, "items": {"type": "string"}},
          "grammar": {"type": ["string", "null"]}, "json_object": {"type": ["boolean", "null"]},
          "disable_any_whitespace": {"type": ["boolean", "null"]}},
         "description": "vLLM's form of the same."})"},
    {"guided_json", [](const json::value& v, Wanted& w) { return want_schema(v, "guided_json", w); },
     R"({"type": ["object", "boolean", "string"], "description": "A JSON schema."})"},
    {"guided_regex",
     [](const json::value& v, Wanted& w) { return want_text(Kind::regex, v, "guided_regex", w); },
     R"({"type": "string", "description": "A regular expression."})"},
    {"guided_choice", [](const json::value& v, Wanted& w) { return want_choice(v, "guided_choice", w); },
     R"({"type": "array", "minItems": 1, "items": {"type": "string"}, "description": "One of these."})"},
    {"guided_grammar",
     [](const json::value& v, Wanted& w) { return want_text(Kind::ebnf, v, "guided_grammar", w); },
     R"({"type": "string", "description": "A grammar, GBNF or Lark."})"},
    {"guided_json_object",
     [](const json::value& v, Wanted& w) { return want_object(v, "guided_json_object", w); },
     R"({"type": "boolean", "description": "Some JSON object."})"},
    {"regex", [](const json::value& v, Wanted& w) { return want_text(Kind::regex, v, "regex", w); },
     R"({"type": "string", "description": "As guided_regex."})"},
    {"ebnf", [](const json::value& v, Wanted& w) { return want_text(Kind::ebnf, v, "ebnf", w); },
     R"({"type": "string", "description": "As guided_grammar."})"},
    {"grammar", [](const json::value& v, Wanted& w) { return want_text(Kind::ebnf, v, "grammar", w); },
     R"({"type": "string", "description": "As guided_grammar."})"},
    {"json_schema", [](const json::value& v, Wanted& w) { return want_schema(v, "json_schema", w); },
     R"({"type": ["object", "boolean", "string"], "description": "As guided_json."})"},
};

// The warnings are sent as headers, so their number and size are bounded.
constexpr std::size_t kMaxFormatWarnings = 8;
constexpr std::size_t kMaxWarningBytes = 300;

// Turns a path in the format's schema ("#/a") into a place in the request:
// "response_format.json_schema.schema/a".
std::string place_in_request(const OutputFormat& format, const std::string& path) {
  if (path.starts_with('!')) return path.substr(1);
  std::string place = path.starts_with('#') ? path.substr(1) : "";
  if (const std::size_t number = place.find(']');
      format.source.kind == Kind::tool_calls && number < place.size())
    place.insert(number + 1, format.schema_path);
  return format.field + place;
}

}  // namespace

Status read_structured_output(const json::object& body, GenerateParams& params) {
  Wanted wanted;
  TRY_OK(read_fields<Wanted>(body, kStructuredOutputFields, wanted));
  params.format = std::move(wanted.format);
  std::ranges::move(wanted.warnings, std::back_inserter(params.warnings));
  return base::ok();
}

void describe_structured_output(ObjectSchema& schema) {
  schema.add<Wanted>(kStructuredOutputFields);
}

Error format_error(const OutputFormat& format, Error error) {
  // A grammar that exceeds a limit is the client's error, as an invalid grammar is.
  if (error.code == ErrorCode::too_large) {
    error.code = ErrorCode::invalid_argument;
    error.reason = "grammar_too_complex";
  }
  if (error.reason.empty())
    error.reason = error.code == ErrorCode::unsupported ? "unsupported_parameter" : "invalid_value";
  error.field = place_in_request(format, error.field);
  return error;
}

std::vector<std::string> format_warnings(const OutputFormat& format,
                                         const grammar::CompiledGrammar& grammar) {
  std::vector<std::string> lines;
  for (const grammar::Note& note : grammar.notes()) {
    if (lines.size() >= kMaxFormatWarnings) break;
    std::string line = fmt::format("{}: {}", place_in_request(format, note.path), note.what);
    if (note.num_places > 1) line += fmt::format(", also in {} other places", note.num_places - 1);
    std::ranges::replace_if(line, [](char c) { return c < ' ' || c > '~'; }, '?');
    if (line.size() > kMaxWarningBytes) line = line.substr(0, kMaxWarningBytes) + "...";
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace kvasir::api

#include "grammar/tool_calls.h"

#include <utility>

#include "grammar/char_encoding.h"
#include "grammar/ebnf.h"
#include "grammar/schema_compiler.h"
#include "grammar/text_until.h"

namespace kvasir::grammar {
namespace {

namespace json = base::json;

// Twice the limit of one schema: 128 tools with five parameters and long names need 170,000 nodes, and 20 MB
// while they are compiled.
constexpr std::size_t kMaxSize = 400'000;

ToolCallGrammar read(const json::value& value) {
  const auto text = [&](const char* key) { return std::string(value.at("text").at(key).as_string()); };
  ToolCallGrammar calls;
  calls.text = {.begin = text("begin"),
                .before_name = text("before_name"),
                .after_name = text("after_name"),
                .after = text("after"),
                .separator = text("separator"),
                .end = text("end"),
                .trigger = text("trigger")};
  calls.max_calls = static_cast<std::uint32_t>(value.at("max_calls").to_number<std::int64_t>());
  calls.otherwise = value.at("otherwise");
  for (const json::value& tool : value.at("tools").as_array())
    calls.tools.push_back({.name = std::string(tool.at("name").as_string()),
                           .schema = tool.at("schema"),
                           .strict = tool.at("strict").as_bool(),
                           .lark = std::string(tool.at("lark").as_string()),
                           .lark_argument = std::string(tool.at("lark_argument").as_string()),
                           .lark_field = std::string(tool.at("lark_field").as_string())});
  return calls;
}

// The place of a path ("#/a") in the schema of a tool: "#[1]/a".
std::string place_in_tool(std::size_t index, std::string_view path) {
  return fmt::format("#[{}]{}", index, path.starts_with('#') ? path.substr(1) : path);
}

std::vector<Note> notes_in_tool(std::vector<Note> notes, std::size_t index) {
  for (Note& note : notes) note.path = place_in_tool(index, note.path);
  return notes;
}

// {"input": "TEXT"}, where the text follows the grammar.
base::Result<NodeId> lark_argument_of(Grammar& grammar, const ToolCallGrammar::Tool& tool,
                                      JsonSchemaOptions options) {
  auto text = add_lark(grammar, tool.lark, CharEncoding::json);
  if (!text.ok()) {
    base::Error error = std::move(text).error();
    error.field = "!" + tool.lark_field;
    return error;
  }
  ByteSet blanks;
  for (const char c : {' ', '\n', '\r', '\t'}) blanks.add(static_cast<std::uint8_t>(c));
  const NodeId space = grammar.repeat(grammar.bytes(blanks), 0, options.max_whitespace);
  const auto is = [&](std::string_view sign) { return grammar.literal(sign); };
  return grammar.sequence({is("{"), space, is(json_quoted(tool.lark_argument) + ":"), space, is("\""), *text,
                           is("\""), space, is("}")});
}

base::Result<NodeId> arguments_of(Grammar& grammar, const ToolCallGrammar::Tool& tool, std::size_t index,
                                  JsonSchemaOptions options) {
  if (!tool.lark.empty()) return lark_argument_of(grammar, tool, options);
  Grammar trial;  // nodes of a schema that fails do not become part of the grammar
  SchemaCompiler attempt(trial, tool.schema, options);
  if (auto tried = attempt.compile_arguments(); !tried.ok()) {
    base::Error error = std::move(tried).error();
    error.field = place_in_tool(index, error.field);
    if (tool.strict) return error;
    grammar.add_notes({{"the arguments may be any object: " + error.message, error.field}});
    static const json::value kAny(true);
    return grammar.reference(SchemaCompiler(grammar, kAny, options).any_object());
  }
  SchemaCompiler compiler(grammar, tool.schema, options);
  TRY(const RuleId rule, compiler.compile_arguments());
  grammar.add_notes(notes_in_tool(compiler.notes(), index));
  return grammar.reference(rule);
}

}  // namespace

std::string tool_calls_text(const ToolCallGrammar& calls) {
  json::array tools;
  for (const ToolCallGrammar::Tool& tool : calls.tools)
    tools.push_back(json::object{{"name", tool.name},
                                 {"schema", tool.schema},
                                 {"strict", tool.strict},
                                 {"lark", tool.lark},
                                 {"lark_argument", tool.lark_argument},
                                 {"lark_field", tool.lark_field}});
  const json::object text{{"begin", calls.text.begin},           {"before_name", calls.text.before_name},
                          {"after_name", calls.text.after_name}, {"after", calls.text.after},
                          {"separator", calls.text.separator},   {"end", calls.text.end},
                          {"trigger", calls.text.trigger}};
  return base::json_text(json::object{{"text", text},
                                      {"max_calls", calls.max_calls},
                                      {"otherwise", calls.otherwise},
                                      {"tools", std::move(tools)}});
}

base::Result<Grammar> grammar_of_tool_calls(std::string_view text, JsonSchemaOptions options) {
  // A schema may be as deep as a request, and is two levels deeper here.
  TRY(const json::value value, base::parse_json(text, {.max_depth = 80}));
  const ToolCallGrammar calls = read(value);
  Grammar g(kMaxSize);
  std::vector<NodeId> ways;
  for (std::size_t i = 0; i < calls.tools.size(); ++i) {
    const ToolCallGrammar::Tool& tool = calls.tools[i];
    TRY(const NodeId arguments, arguments_of(g, tool, i, options));
    ways.push_back(g.sequence({g.literal(tool.name), g.literal(calls.text.after_name), arguments}));
  }
  const NodeId call =
      g.sequence({g.literal(calls.text.before_name), g.choice(std::move(ways)), g.literal(calls.text.after)});
  NodeId all = g.sequence({g.literal(calls.text.begin), call});
  if (calls.max_calls > 1) {
    const NodeId more = g.sequence({g.literal(calls.text.separator), call});
    all = g.sequence({all, g.repeat(more, 0, calls.max_calls - 1)});
    // A model may write a line feed before it ends, which must not force another call.
    const bool is_blank = calls.text.separator.find_first_not_of(" \n") == std::string::npos;
    if (is_blank && calls.text.end.empty())
      all = g.sequence({all, g.optional(g.literal(calls.text.separator))});
  }
  all = g.sequence({all, g.literal(calls.text.end)});
  if (!calls.text.trigger.empty()) all = g.sequence({text_without(g, calls.text.trigger), g.optional(all)});
  SchemaCompiler otherwise(g, calls.otherwise, options);
  if (!calls.otherwise.is_null()) {
    TRY(const RuleId rule, otherwise.compile());
    g.add_notes(otherwise.notes());
    all = g.choice({all, g.reference(rule)});
  }
  const RuleId root = g.add_rule("root");
  g.define(root, all);
  g.set_root(root);
  TRY_OK(g.check());
  return g;
}

}  // namespace kvasir::grammar

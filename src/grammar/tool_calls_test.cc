#include "grammar/tool_calls.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "grammar/char_encoding.h"
#include "grammar/grammar_compiler.h"
#include "grammar/matcher.h"
#include "grammar/schema_check.h"

namespace kvasir::grammar {
namespace {

std::shared_ptr<const TokenTrie> byte_trie() {
  TokenTrie::Vocabulary vocabulary;
  for (int b = 0; b < 256; ++b) vocabulary.token_bytes.emplace_back(1, static_cast<char>(b));
  vocabulary.end = {256};
  vocabulary.token_bytes.emplace_back("");
  return std::make_shared<const TokenTrie>(std::move(vocabulary));
}

enum class Fit { no, part, whole };

Fit fit(const GrammarSource& source, std::string_view text) {
  GrammarCompiler compiler(byte_trie());
  auto compiled = compiler.compile(source);
  CHECK(compiled.ok(), "{} {}", compiled.error().field, compiled.error().message);
  Matcher matcher(*compiled);
  if (!*matcher.accept_bytes(text)) return Fit::no;
  return matcher.is_complete() ? Fit::whole : Fit::part;
}

ToolCallGrammar weather_and_time() {
  ToolCallGrammar calls;
  calls.text = {.begin = "",
                .before_name = "<tool_call>\n{\"name\": \"",
                .after_name = "\", \"arguments\": ",
                .after = "}\n</tool_call>",
                .separator = "\n",
                .end = "",
                .trigger = ""};
  calls.tools = {{.name = "get_weather",
                  .schema = base::parse_json(R"({"type": "object",
                    "properties": {"city": {"type": "string"}}, "required": ["city"],
                    "additionalProperties": false})")
                                .value()},
                 {.name = "get_time", .schema = base::parse_json(R"({"type": "object"})").value()}};
  return calls;
}

GrammarSource source_of(const ToolCallGrammar& calls) {
  return {.kind = GrammarSource::Kind::tool_calls, .text = tool_calls_text(calls)};
}

const std::string kCall =
    "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>";

TEST(ToolCalls, OnlyCallsOfDeclaredToolsWithFittingArguments) {
  const GrammarSource source = source_of(weather_and_time());
  EXPECT_EQ(fit(source, kCall), Fit::whole);
  EXPECT_EQ(fit(source, "<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>"),
            Fit::whole);
  EXPECT_EQ(fit(source, "The"), Fit::no);
  EXPECT_EQ(fit(source, "<tool_call>\n{\"name\": \"get_rain"), Fit::no);
  EXPECT_EQ(fit(source, "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {}"), Fit::no);
  EXPECT_EQ(fit(source, kCall + "\n" + kCall), Fit::no);
  ToolCallGrammar several = weather_and_time();
  several.max_calls = 3;
  EXPECT_EQ(fit(source_of(several), kCall + "\n" + kCall + "\n" + kCall), Fit::whole);
  EXPECT_EQ(fit(source_of(several), kCall + "\n" + kCall + "\n" + kCall + "\n<"), Fit::no);
}

// A tool that edits files by patches of text, as Codex declares it.
constexpr std::string_view kPatchGrammar = R"(start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?

filename: /(.+)/
add_line: "+" /(.*)/ LF -> line

change_move: "*** Move to: " filename LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF

%import common.LF
)";

GrammarSource patch_source(std::string_view lark) {
  ToolCallGrammar calls = weather_and_time();
  calls.tools = {{.name = "apply_patch",
                  .schema = base::json::object(),
                  .lark = std::string(lark),
                  .lark_argument = "input",
                  .lark_field = "tools[0].format.definition"}};
  return source_of(calls);
}

std::string patch_call(std::string_view input) {
  return "<tool_call>\n{\"name\": \"apply_patch\", \"arguments\": {\"input\": " + json_quoted(input) +
         "}}\n</tool_call>";
}

TEST(ToolCalls, TheInputOfAPatchFollowsItsGrammar) {
  const GrammarSource source = patch_source(kPatchGrammar);
  const auto fits = [&](std::string_view input) { return fit(source, patch_call(input)); };
  EXPECT_EQ(fits("*** Begin Patch\n*** Add File: a.py\n+print(\"x\\n\")\n+\tend\n*** End Patch"), Fit::whole);
  EXPECT_EQ(fits("*** Begin Patch\n*** Update File: a b.c\n*** Move to: c\n@@ f()\n-old\n+new\n same\n"
                 "*** End of File\n*** Delete File: d\n*** End Patch\n"),
            Fit::whole);
  EXPECT_EQ(fits("*** Begin Patch\n*** End Patch"), Fit::no);
  EXPECT_EQ(fits("*** Begin Patch\n*** Add File: a\nprint\n*** End Patch"), Fit::no);
  EXPECT_EQ(fits("diff --git a b"), Fit::no);
  EXPECT_EQ(fits("*** Begin Patch\n*** Delete File: a\n*** End Patch\n\n"), Fit::no);
}

TEST(ToolCalls, AnErrorInAGrammarNamesItsPlaceAndLine) {
  const auto broken = grammar_of(patch_source("start: a\na: /x(?=y)/"));
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().field, "!tools[0].format.definition");
  EXPECT_NE(broken.error().message.find("(line 2)"), std::string::npos) << broken.error().message;
  const auto attribute = grammar_of(patch_source("start[capture]: \"x\""));
  ASSERT_FALSE(attribute.ok());
  EXPECT_NE(attribute.error().message.find("attributes of rules"), std::string::npos);
  EXPECT_FALSE(grammar_of(patch_source("root ::= \"GBNF\"")).ok());
}

// As many tools as a request may have.
TEST(ToolCalls, ManyToolsOfSeveralParametersFit) {
  ToolCallGrammar calls = weather_and_time();
  calls.tools.clear();
  for (int i = 0; i < 128; ++i) {
    base::json::object properties;
    for (const char* name : {"first_city", "second_city", "third_city", "fourth_city", "fifth_city"})
      properties[name] = base::json::object{{"type", "string"}, {"description", "One of the cities."}};
    calls.tools.push_back(
        {.name = fmt::format("tool_number_{}", i),
         .schema = base::json::object{
             {"type", "object"}, {"properties", std::move(properties)}, {"required", {"first_city"}}}});
  }
  for (const char* trigger : {"", "<tool_call>"}) {
    calls.text.trigger = trigger;
    for (const std::uint32_t max_calls : {1u, 32u}) {
      calls.max_calls = max_calls;
      const GrammarSource source = source_of(calls);
      EXPECT_EQ(fit(source,
                    "<tool_call>\n{\"name\": \"tool_number_127\", \"arguments\": {\"first_city\": "
                    "\"Rome\", \"fifth_city\": \"Oslo\"}}\n</tool_call>"),
                Fit::whole);
    }
  }
}

// The separator of calls may also end an answer.
TEST(ToolCalls, ALineFeedBehindACallNeedsNoOtherCall) {
  ToolCallGrammar calls = weather_and_time();
  calls.max_calls = 3;
  EXPECT_EQ(fit(source_of(calls), kCall + "\n"), Fit::whole);
  EXPECT_EQ(fit(source_of(calls), kCall + "\n" + kCall + "\n"), Fit::whole);
  EXPECT_EQ(fit(source_of(calls), kCall + "\n\n"), Fit::no);
  calls.text.separator = ", ";
  EXPECT_EQ(fit(source_of(calls), kCall + ", "), Fit::part);
  calls.text.separator = "\n";
  calls.text.end = "!";
  EXPECT_EQ(fit(source_of(calls), kCall + "\n"), Fit::part);
  EXPECT_EQ(fit(source_of(calls), kCall + "!"), Fit::whole);
}

TEST(ToolCalls, TextUntilTheTrigger) {
  ToolCallGrammar calls = weather_and_time();
  calls.text.trigger = "<tool_call>";
  const GrammarSource source = source_of(calls);
  EXPECT_EQ(fit(source, ""), Fit::whole);
  EXPECT_EQ(fit(source, "Just text, <tool and <<tool_cal> are text."), Fit::whole);
  EXPECT_EQ(fit(source, "Let me look.\n" + kCall), Fit::whole);
  EXPECT_EQ(fit(source, "<<tool_call>\n{\"name\": \"get_"), Fit::part);
  EXPECT_EQ(fit(source, "<tool_call>x"), Fit::no);
  EXPECT_EQ(fit(source, kCall + "more"), Fit::no);
}

TEST(ToolCalls, AStrictSchemaThatCannotBeEnforcedIsAnErrorAndAnotherAnyObject) {
  ToolCallGrammar calls = weather_and_time();
  calls.tools[1].schema = base::parse_json(R"({"type": "array", "contains": {"const": 1}})").value();
  EXPECT_EQ(fit(source_of(calls), "<tool_call>\n{\"name\": \"get_time\", \"arguments\": {\"a\": [1, 1]}}"),
            Fit::part);
  calls.tools[1].strict = true;
  const auto refused = grammar_of(source_of(calls));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().field, "#[1]/contains");
}

TEST(ToolCalls, ArgumentsHaveDeclaredPropertiesOnly) {
  const auto fit_with = [](const char* schema, const std::string& arguments) {
    ToolCallGrammar calls = weather_and_time();
    calls.tools[1].schema = base::parse_json(schema).value();
    return fit(source_of(calls),
               "<tool_call>\n{\"name\": \"get_time\", \"arguments\": " + arguments + "}\n</tool_call>");
  };
  for (const char* none : {"{}", R"({"type": "object"})", R"({"type": "object", "properties": {}})"}) {
    EXPECT_EQ(fit_with(none, "{}"), Fit::whole) << none;
    EXPECT_EQ(fit_with(none, R"({"a": 1})"), Fit::no) << none;
    EXPECT_EQ(fit_with(none, "[]"), Fit::no) << none;
  }
  const char* const kNested =
      R"({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {}}},
    "free": {"type": "object"}}})";
  EXPECT_EQ(fit_with(kNested, R"({"a": {"b": 1}, "free": {"x": 1}})"), Fit::whole);
  EXPECT_EQ(fit_with(kNested, R"({"a": {"c": 1}})"), Fit::no);
  EXPECT_EQ(fit_with(kNested, R"({"c": 1})"), Fit::no);
  EXPECT_EQ(fit_with(R"({"type": "object", "additionalProperties": true})", R"({"a": 1})"), Fit::whole);
  EXPECT_EQ(
      fit_with(R"({"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "null"}})",
               R"({"b": null})"),
      Fit::whole);
  EXPECT_EQ(fit_with(R"({"type": "object", "patternProperties": {"^x": {}}})", R"({"x1": 1})"), Fit::whole);
  EXPECT_EQ(
      fit_with(R"({"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]})", R"({"a": 1, "b": 2})"),
      Fit::whole);
}

TEST(ToolCalls, ReasoningBeforeTheOutput) {
  GrammarSource source{.kind = GrammarSource::Kind::regex, .text = "[0-9]+"};
  EXPECT_EQ(fit(source, "<think>"), Fit::no);
  source.preamble = GrammarSource::Preamble::reasoning;
  EXPECT_EQ(fit(source, "12"), Fit::whole);
  EXPECT_EQ(fit(source, "<think>any </thin thing"), Fit::part);
  EXPECT_EQ(fit(source, "<think>any thing</think>\n\n12"), Fit::whole);
  EXPECT_EQ(fit(source, "<think>any thing</think>x"), Fit::no);
  source.preamble = GrammarSource::Preamble::open_reasoning;
  EXPECT_EQ(fit(source, "12"), Fit::part);
  EXPECT_EQ(fit(source, "so</think>12"), Fit::whole);
}

TEST(SchemaCheck, FitsWhatTheSchemaSays) {
  const auto fits = [](const char* value, const char* schema) {
    return fits_schema(base::parse_json(value).value(), base::parse_json(schema).value());
  };
  const char* person = R"({"type": "object", "properties": {"name": {"type": "string", "minLength": 2},
    "age": {"$ref": "#/$defs/age"}, "tags": {"type": "array", "items": {"enum": ["a", 1]}, "maxItems": 2}},
    "required": ["name"], "additionalProperties": false,
    "$defs": {"age": {"anyOf": [{"type": "null"}, {"type": "integer", "minimum": 0}]}}})";
  EXPECT_TRUE(fits(R"({"name": "Jo"})", person));
  EXPECT_TRUE(fits(R"({"age": 3, "name": "Jo", "tags": ["a", 1.0]})", person));
  EXPECT_TRUE(fits(R"({"age": null, "name": "Jo"})", person));
  for (const char* wrong : {"[]", "{}", R"({"name": "J"})", R"({"name": 3})", R"({"name": "Jo", "age": -1})",
                            R"({"name": "Jo", "age": "3"})", R"({"name": "Jo", "tags": ["b"]})",
                            R"({"name": "Jo", "tags": ["a", "a", "a"]})", R"({"name": "Jo", "other": 1})"})
    EXPECT_FALSE(fits(wrong, person)) << wrong;
  EXPECT_TRUE(fits("3", R"({"$ref": "#"})"));
  EXPECT_TRUE(fits("1", "true"));
  EXPECT_FALSE(fits("1", "false"));
  EXPECT_TRUE(fits("2.0", R"({"type": "integer", "allOf": [{"maximum": 2}]})"));
  EXPECT_FALSE(
      fits(R"([1, "x"])", R"({"prefixItems": [{"type": "integer"}], "items": {"type": "integer"}})"));
}

}  // namespace
}  // namespace kvasir::grammar

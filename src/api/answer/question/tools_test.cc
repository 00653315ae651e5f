#include "api/answer/question/tools.h"

#include "api/answer/question/chat_request.h"
#include "api/api_fixture.h"
#include "grammar/matcher.h"

namespace kvasir::api {
namespace {

const std::string kWeather = R"({"type": "function", "function": {"name": "get_weather", "description": "d",
  "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
  "additionalProperties": false}}})";
const std::string kTime = R"({"type": "function", "function": {"name": "get_time"}})";

base::Result<ToolSettings> settings(const std::string& fields) {
  return read_tools(parse_object("{" + fields + "}", 64).value());
}

TEST(Tools, EachChoiceIsRead) {
  using Choice = ToolSettings::Choice;
  const std::string tools = R"("tools": [)" + kWeather + ", " + kTime + "]";
  const auto plain = settings(tools);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->choice, Choice::automatic);
  EXPECT_TRUE(plain->parallel && plain->may_call());
  ASSERT_EQ(plain->tools.size(), 2u);
  EXPECT_EQ(plain->tools[1].parameters.at("type").as_string(), "object");
  EXPECT_FALSE(settings(tools + R"(, "tool_choice": "none")")->may_call());
  EXPECT_EQ(settings(tools + R"(, "tool_choice": "required")")->choice, Choice::required);
  const auto named =
      settings(tools + R"(, "tool_choice": {"type": "function", "function": {"name": "get_time"}})");
  EXPECT_EQ(named->choice, Choice::required);
  EXPECT_EQ(named->named, "get_time");
  EXPECT_FALSE(settings(tools + R"(, "parallel_tool_calls": false)")->parallel);
  EXPECT_FALSE(settings(R"("tools": [], "tool_choice": "auto")")->may_call());
}

TEST(Tools, AllowedToolsAreTheOnlyOnesThatMayBeCalled) {
  const std::string tools = R"("tools": [)" + kWeather + ", " + kTime + "]";
  const auto choice = [&](const std::string& allowed) {
    return settings(tools + R"(, "tool_choice": {"type": "allowed_tools", "allowed_tools": )" + allowed +
                    "}");
  };
  const std::string time = R"({"type": "function", "function": {"name": "get_time"}})";
  const auto some = choice(R"({"mode": "auto", "tools": [)" + time + "]}");
  ASSERT_TRUE(some.ok()) << some.error().message;
  EXPECT_EQ(some->choice, ToolSettings::Choice::automatic);
  ASSERT_EQ(some->tools.size(), 1u);
  EXPECT_EQ(some->tools[0].name, "get_time");
  EXPECT_EQ(some->definitions.size(), 2u);  // the prompt lists both tools
  EXPECT_EQ(choice(R"({"mode": "required", "tools": [)" + time + "]}")->choice,
            ToolSettings::Choice::required);
  for (const auto& [wrong, field] :
       {std::pair(R"(3)", "tool_choice.allowed_tools"),
        std::pair(R"({"mode": "none", "tools": []})", "tool_choice.allowed_tools.mode"),
        std::pair(R"({"mode": "auto", "tools": []})", "tool_choice.allowed_tools.tools"),
        std::pair(R"({"mode": "auto", "tools": [{"type": "function", "function": {"name": "x"}}]})",
                  "tool_choice.allowed_tools.tools[0]")})
    EXPECT_EQ(choice(wrong).error().field, field);
}

TEST(Tools, WhatIsWrongIsNamed) {
  struct Case {
    std::string json;
    const char* field;
  };
  const Case cases[] = {
      {R"("tools": {})", "tools"},
      {R"("tools": [1])", "tools[0]"},
      {R"("tools": [{"type": "web_search"}])", "tools[0].type"},
      {R"("tools": [{"type": "function"}])", "tools[0].function"},
      {R"("tools": [{"type": "function", "function": {}}])", "tools[0].function.name"},
      {R"("tools": [{"type": "function", "function": {"name": "a b"}}])", "tools[0].function.name"},
      {R"("tools": [{"type": "function", "function": {"name": "a", "parameters": 3}}])",
       "tools[0].function.parameters"},
      {R"("tools": [{"type": "function", "function": {"name": "a", "description": 3}}])",
       "tools[0].function.description"},
      {R"("tools": [{"type": "function", "function": {"name": "a", "strict": 3}}])",
       "tools[0].function.strict"},
      {R"("tools": [)" + kTime + ", " + kTime + "]", "tools[1]"},
      {R"("tool_choice": "required")", "tool_choice"},
      {R"("tool_choice": "maybe")", "tool_choice"},
      {R"("tools": [)" + kTime + R"(], "tool_choice": {"type": "function", "function": {"name": "x"}})",
       "tool_choice"},
      {R"("tools": [)" + kTime + R"(], "tool_choice": {"type": "allowed_tools"})",
       "tool_choice.allowed_tools"},
  };
  for (const Case& c : cases) {
    const auto read = settings(c.json);
    ASSERT_FALSE(read.ok()) << c.json;
    EXPECT_EQ(read.error().field, c.field) << c.json;
  }
}

TEST(Tools, PlainMessagesForTemplatesThatKnowNoTools) {
  json::array messages = base::parse_json(R"([{"role": "user", "content": "hi"},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "type": "function",
      "function": {"name": "f", "arguments": {"a": 1}}}]},
    {"role": "tool", "tool_call_id": "1", "content": "x"}, {"role": "tool", "content": "y"}])")
                             .value()
                             .as_array();
  write_tools_as_text(base::parse_json("[" + kTime + "]").value().as_array(), messages);
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[0].at("role").as_string(), "system");
  EXPECT_NE(std::string(messages[0].at("content").as_string()).find("get_time"), std::string::npos);
  EXPECT_EQ(messages[2].at("content").as_string(),
            "<tool_call>\n{\"name\":\"f\",\"arguments\":{\"a\":1}}\n</tool_call>");
  EXPECT_EQ(messages[3].at("role").as_string(), "user");
  EXPECT_EQ(messages[3].at("content").as_string(),
            "<tool_response>\nx\n</tool_response>\n<tool_response>\ny\n</tool_response>");
}

class ToolsTest : public ApiTest {
 protected:
  Reply ask(const std::string& more) {
    return post("/v1/chat/completions", chat_body(R"(, "tools": [)" + kWeather + ", " + kTime + "]" + more));
  }
  static json::value choice(const Reply& reply) { return reply.body.at("choices").at(0); }
  // Whether the grammar given to the worker accepts the whole text.
  bool takes(std::string_view text) {
    grammar::Matcher matcher(worker_->wait_for(0).request.grammar);
    return *matcher.accept_bytes(text) && matcher.is_complete();
  }
};

const char* const kCall =
    "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>";

TEST_F(ToolsTest, ACallIsTakenOutOfTheAnswer) {
  serve(says(std::string("Wait.\n") + kCall));
  const Reply reply = ask("");
  const json::value message = choice(reply).at("message");
  EXPECT_EQ(choice(reply).at("finish_reason").as_string(), "tool_calls");
  EXPECT_EQ(message.at("content").as_string(), "Wait.");
  const json::value& call = message.at("tool_calls").at(0);
  EXPECT_TRUE(call.at("id").as_string().starts_with("call_"));
  EXPECT_EQ(call.at("type").as_string(), "function");
  EXPECT_EQ(call.at("function").at("name").as_string(), "get_weather");
  EXPECT_EQ(call.at("function").at("arguments").as_string(), "{\"city\": \"Paris\"}");
  EXPECT_TRUE(takes("Text alone is allowed."));
  EXPECT_TRUE(takes(std::string("And so is\n") + kCall + "\n" + kCall));
}

TEST_F(ToolsTest, AStreamSaysTheSame) {
  serve(says(std::string("Wait.\n") + kCall));
  const Reply reply = ask(R"(, "stream": true)");
  std::string content, name, arguments, id, finish;
  for (const json::value& event : events_of(reply.text)) {
    const json::value& one = event.at("choices").at(0);
    const json::object& delta = one.at("delta").as_object();
    if (delta.contains("content")) content += delta.at("content").as_string();
    if (!one.at("finish_reason").is_null()) finish = one.at("finish_reason").as_string();
    if (!delta.contains("tool_calls")) continue;
    const json::object& call = delta.at("tool_calls").at(0).as_object();
    EXPECT_EQ(call.at("index").as_int64(), 0);
    if (call.contains("id")) id += call.at("id").as_string();
    const json::object& function = call.at("function").as_object();
    if (function.contains("name")) name += function.at("name").as_string();
    arguments += function.at("arguments").as_string();
  }
  EXPECT_EQ(content, "Wait.");
  EXPECT_EQ(name, "get_weather");
  EXPECT_EQ(arguments, "{\"city\": \"Paris\"}");
  EXPECT_TRUE(id.starts_with("call_"));
  EXPECT_EQ(finish, "tool_calls");
}

TEST_F(ToolsTest, RequiredAndNamedAreEnforced) {
  serve(says(kCall));
  EXPECT_EQ(choice(ask(R"(, "tool_choice": "required")")).at("finish_reason").as_string(), "tool_calls");
  EXPECT_TRUE(takes(kCall));
  EXPECT_FALSE(takes("Text"));
  EXPECT_TRUE(takes("<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>"));
  ask(R"(, "tool_choice": {"type": "function", "function": {"name": "get_weather"}})");
  grammar::Matcher named(worker_->wait_for(1).request.grammar);
  EXPECT_EQ(*named.forced_bytes(), "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {");
}

TEST_F(ToolsTest, CompletionsTakeNone) {
  serve(says("x"));
  const Reply reply = post("/v1/completions", R"({"model": "m", "prompt": "x", "tools": [)" + kTime + "]}");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.body.at("error").at("param").as_string(), "tools");
}

TEST_F(ToolsTest, NoneIsPlainText) {
  serve(says(kCall));
  const Reply reply = ask(R"(, "tool_choice": "none")");
  EXPECT_EQ(choice(reply).at("message").at("content").as_string(), kCall);
  EXPECT_EQ(choice(reply).at("finish_reason").as_string(), "stop");
  EXPECT_EQ(worker_->wait_for(0).request.grammar, nullptr);
}

TEST_F(ToolsTest, AFencedCallOfADeclaredToolIsACall) {
  serve(says("```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n```"));
  const json::value message = choice(ask("")).at("message");
  EXPECT_TRUE(message.at("content").is_null());
  EXPECT_EQ(message.at("tool_calls").at(0).at("function").at("name").as_string(), "get_weather");
}

TEST_F(ToolsTest, JsonOrACall) {
  serve(says("{\"a\": 1}"));
  const Reply reply = ask(R"(, "response_format": {"type": "json_schema", "json_schema": {"name": "x",
    "schema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}})");
  EXPECT_EQ(choice(reply).at("message").at("content").as_string(), "{\"a\": 1}");
  EXPECT_TRUE(takes("{\"a\": 2}"));
  EXPECT_TRUE(takes(kCall));
  EXPECT_FALSE(takes("Text"));
  EXPECT_EQ(ask(R"(, "guided_regex": "a")").status, 400);
}

TEST_F(ToolsTest, AStrictToolThatCannotBeEnforcedIsRefusedByName) {
  serve(says("x"));
  const std::string tool = R"({"type": "function", "function": {"name": "f", "strict": true, "parameters":
    {"type": "object", "properties": {"a": {"type": "array", "contains": {"const": 1}}}}}})";
  const Reply reply = post("/v1/chat/completions", chat_body(R"(, "tools": [)" + kTime + ", " + tool + "]"));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.body.at("error").at("param").as_string(),
            "tools[1].function.parameters/properties/a/contains");
}

const std::string kCustom =
    R"("tools": [{"type": "custom", "custom": {"name": "patch", "description": "Edits.",
    "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: /a+/"}}}}, )" +
    kTime + "]";

TEST(Tools, CustomToolsOfAChatAreFunctionsForTheModel) {
  const auto custom =
      settings(kCustom + R"(, "tool_choice": {"type": "custom", "custom": {"name": "patch"}})");
  ASSERT_TRUE(custom.ok()) << custom.error().message;
  EXPECT_TRUE(custom->tools[0].is_custom);
  EXPECT_FALSE(custom->tools[1].is_custom);
  EXPECT_EQ(custom->named, "patch");
  EXPECT_EQ(custom->tools[0].lark, "start: /a+/");
  EXPECT_EQ(custom->tools[0].lark_field, "tools[0].custom.format.grammar.definition");
  EXPECT_EQ(custom->definitions[0].at_pointer("/function/parameters/properties/input/type"), "string");
  const auto allowed = settings(kCustom + R"(, "tool_choice": {"type": "allowed_tools", "allowed_tools":
      {"mode": "required", "tools": [{"type": "custom", "custom": {"name": "patch"}}]}})");
  ASSERT_TRUE(allowed.ok()) << allowed.error().message;
  EXPECT_EQ(allowed->tools.size(), 1u);
  for (
      const auto& [tool, field] :
      {std::pair(R"({"type": "custom"})", "tools[0].custom"),
       std::pair(R"({"type": "custom", "custom": {}})", "tools[0].custom.name"),
       std::pair(R"({"type": "custom", "custom": {"name": "x", "format": 3}})", "tools[0].custom.format"),
       std::pair(R"({"type": "custom", "custom": {"name": "x", "format": {"type": "json"}}})",
                 "tools[0].custom.format.type"),
       std::pair(
           R"({"type": "custom", "custom": {"name": "x", "format": {"type": "grammar", "grammar": {"syntax": "x", "definition": "y"}}}})",
           "tools[0].custom.format.grammar.syntax")})
    EXPECT_EQ(settings(fmt::format(R"("tools": [{}])", tool)).error().field, field) << tool;
}

class CustomCallsTest : public ApiTest, public testing::WithParamInterface<std::size_t> {};

// A stream has the same calls as the whole answer, however its text is cut.
TEST_P(CustomCallsTest, AStreamIsTheWholeAnswer) {
  serve(says(R"(<tool_call>
{"name": "patch", "arguments": {"input": "a\"\u00e9\nb"}}
</tool_call>
<tool_call>
{"name": "get_time", "arguments": {}}
</tool_call>
<tool_call>
{"name": "patch", "arguments": {"input": ""}}
</tool_call>)",
             GetParam()));
  const Reply whole = post("/v1/chat/completions", chat_body(", " + kCustom));
  ASSERT_EQ(whole.status, 200) << whole.text;
  const json::array& calls = whole.body.at_pointer("/choices/0/message/tool_calls").as_array();
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].at("type"), "custom");
  EXPECT_EQ(calls[0].at_pointer("/custom/name"), "patch");
  EXPECT_EQ(calls[0].at_pointer("/custom/input"), "a\"\xC3\xA9\nb");
  EXPECT_EQ(calls[1].at("type"), "function");
  EXPECT_EQ(calls[2].at_pointer("/custom/input"), "");
  std::vector<std::string> streamed(3);
  const Reply stream = post("/v1/chat/completions", chat_body(R"(, "stream": true, )" + kCustom));
  for (const json::value& event : events_of(stream.text)) {
    const json::array& choices = event.at("choices").as_array();
    if (choices.empty()) continue;
    const json::value* parts = choices[0].at("delta").as_object().if_contains("tool_calls");
    if (parts == nullptr) continue;
    for (const json::value& part : parts->as_array()) {
      const auto index = part.at("index").to_number<std::size_t>();
      const bool custom = part.as_object().contains("custom");
      EXPECT_EQ(custom, index != 1);
      const json::object& inner = part.at(custom ? "custom" : "function").as_object();
      if (const json::value* name = inner.if_contains("name"))
        streamed[index] += std::string(name->as_string()) + ":";
      streamed[index] += inner.at(custom ? "input" : "arguments").as_string();
    }
  }
  EXPECT_EQ(streamed, (std::vector<std::string>{"patch:a\"\xC3\xA9\nb", "get_time:{}", "patch:"}));
}

INSTANTIATE_TEST_SUITE_P(Steps, CustomCallsTest, testing::Values(1, 2, 3, 5, 7, 20, 90, 1000));

TEST_F(ApiTest, EarlierCallsOfCustomToolsAreReadAsCalls) {
  json::value messages = base::parse_json(R"([{"role": "assistant", "content": null, "tool_calls": [
      {"id": "1", "type": "custom", "custom": {"name": "patch", "input": "x"}}]}])")
                             .value();
  const auto read = read_messages(messages);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ((*read)[0].at_pointer("/tool_calls/0/function/arguments/input"), "x");
  json::value wrong =
      base::parse_json(
          R"([{"role": "assistant", "content": null, "tool_calls": [{"custom": {"name": "x"}}]}])")
          .value();
  EXPECT_EQ(read_messages(wrong).error().field, "messages[0].tool_calls");
}

}  // namespace
}  // namespace kvasir::api

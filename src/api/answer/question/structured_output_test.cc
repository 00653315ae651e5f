#include "api/answer/question/structured_output.h"

#include "api/answer/question/chat_request.h"
#include "api/api_fixture.h"
#include "grammar/matcher.h"

namespace kvasir::api {
namespace {

using Kind = grammar::GrammarSource::Kind;

base::Result<ChatRequest> chat(const std::string& field) {
  return read_chat_request(
      parse_object(R"({"model": "m", "messages": [{"role": "user", "content": "hi"}], )" + field + "}", 64)
          .value());
}

TEST(StructuredOutput, EachSpellingIsRead) {
  struct Case {
    const char* json;
    Kind kind;
    const char* text;
  };
  const Case cases[] = {
      {R"("response_format": {"type": "json_object"})", Kind::json_object, ""},
      {R"("response_format": {"type": "json_object", "schema": {"type": "null"}})", Kind::json_schema,
       R"({"type":"null"})"},
      {R"("response_format": {"type": "json_schema", "json_schema": {"name": "x", "strict": true,
          "schema": {"type": "integer"}}})",
       Kind::json_schema, R"({"type":"integer"})"},
      {R"("guided_json": {"type": "integer"})", Kind::json_schema, R"({"type":"integer"})"},
      {R"("guided_json": "{\"type\": \"integer\"}")", Kind::json_schema, R"({"type": "integer"})"},
      {R"("guided_regex": "a+")", Kind::regex, "a+"},
      {R"("guided_choice": ["a", "b"])", Kind::choice, R"(["a","b"])"},
      {R"("guided_grammar": "root ::= \"x\"")", Kind::ebnf, "root ::= \"x\""},
      {R"("structured_outputs": {"json": {"type": "integer"}})", Kind::json_schema, R"({"type":"integer"})"},
      {R"("structured_outputs": {"regex": "a+", "json": null})", Kind::regex, "a+"},
      {R"("structured_outputs": {"choice": ["a"]})", Kind::choice, R"(["a"])"},
      {R"("structured_outputs": {"json_object": true})", Kind::json_object, ""},
      {R"("regex": "a+")", Kind::regex, "a+"},
      {R"("ebnf": "root ::= \"x\"")", Kind::ebnf, "root ::= \"x\""},
      {R"("grammar": "root ::= \"x\"")", Kind::ebnf, "root ::= \"x\""},
      {R"("json_schema": {"type": "integer"})", Kind::json_schema, R"({"type":"integer"})"},
  };
  for (const Case& c : cases) {
    const auto request = chat(c.json);
    ASSERT_TRUE(request.ok()) << c.json << ": " << request.error().message;
    ASSERT_TRUE(request->params.format) << c.json;
    EXPECT_EQ(request->params.format->source.kind, c.kind) << c.json;
    EXPECT_EQ(request->params.format->source.text, c.text) << c.json;
  }
  EXPECT_FALSE(chat(R"("response_format": {"type": "text"}, "guided_json": null)")->params.format);
  const auto compact = chat(R"("structured_outputs": {"disable_any_whitespace": true, "json": {}})");
  EXPECT_EQ(compact->params.format->source.json.max_whitespace, 0u);
}

TEST(StructuredOutput, WhatIsWrongIsNamed) {
  struct Case {
    const char* json;
    const char* field;
  };
  const Case cases[] = {
      {R"("response_format": "json")", "response_format"},
      {R"("response_format": {})", "response_format.type"},
      {R"("response_format": {"type": "xml"})", "response_format.type"},
      {R"("response_format": {"type": "json_schema"})", "response_format.json_schema"},
      {R"("response_format": {"type": "json_schema", "json_schema": {"name": "x"}})",
       "response_format.json_schema.schema"},
      {R"("guided_choice": [])", "guided_choice"},
      {R"("guided_choice": [1])", "guided_choice"},
      {R"("guided_regex": 1)", "guided_regex"},
      {R"("guided_regex": "a", "guided_choice": ["a"])", "guided_choice"},
      {R"("structured_outputs": {"structural_tag": "x"})", "structured_outputs.structural_tag"},
      {R"("structured_outputs": {"regex": "a", "choice": ["a"]})", "structured_outputs.choice"},
  };
  for (const Case& c : cases) {
    const auto request = chat(c.json);
    ASSERT_FALSE(request.ok()) << c.json;
    EXPECT_EQ(request.error().field, c.field) << c.json;
  }
}

class StructuredOutputTest : public ApiTest {
 protected:
  Reply ask(const std::string& more) { return post("/v1/chat/completions", chat_body(more)); }
  static std::string param(const Reply& reply) {
    return std::string(reply.body.at("error").at("param").as_string());
  }
};

TEST_F(StructuredOutputTest, TheGrammarReachesTheWorkerForEveryChoice) {
  serve(says("[1]"));
  const Reply reply = ask(R"(, "n": 2, "guided_json": {"type": "array"})");
  EXPECT_EQ(reply.status, 200);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto asked = worker_->wait_for(i);
    ASSERT_NE(asked.request.grammar, nullptr);
    grammar::Matcher matcher(asked.request.grammar);
    EXPECT_TRUE(*matcher.accept_bytes("[1]") && matcher.is_complete());
  }
  EXPECT_EQ(worker_->wait_for(0).request.grammar, worker_->wait_for(1).request.grammar);
}

TEST_F(StructuredOutputTest, OneGrammarIsCompiledOnce) {
  serve(says("ab"));
  ask(R"(, "guided_regex": "a.")");
  EXPECT_EQ(post("/v1/completions", R"({"model": "m", "prompt": "x", "guided_regex": "a."})").status, 200);
  EXPECT_EQ(worker_->wait_for(0).request.grammar, worker_->wait_for(1).request.grammar);
}

TEST_F(StructuredOutputTest, WhatCannotBeEnforcedIsRefusedByName) {
  serve(says("1"));
  const Reply keyword = ask(R"(, "response_format": {"type": "json_schema", "json_schema": {"name": "x",
    "schema": {"type": "object", "properties": {"a": {"type": "array", "contains": {"const": 1}}}}}})");
  EXPECT_EQ(keyword.status, 400);
  EXPECT_EQ(param(keyword), "response_format.json_schema.schema/properties/a/contains");
  EXPECT_EQ(keyword.body.at("error").at("code").as_string(), "unsupported_parameter");
  const Reply regex = ask(R"x(, "guided_regex": "(?=a)")x");
  EXPECT_EQ(regex.status, 400);
  EXPECT_EQ(param(regex), "guided_regex");
  const Reply broken = ask(R"(, "guided_json": "{")");
  EXPECT_EQ(broken.status, 400);
  EXPECT_EQ(param(broken), "guided_json");
  const Reply large = ask(R"(, "guided_regex": ")" + std::string(300'000, 'a') + "\"");
  EXPECT_EQ(large.status, 400);
}

TEST_F(StructuredOutputTest, WhatIsIgnoredInASchemaIsSaid) {
  serve(says("[1]"));
  const Reply reply = ask(R"(, "guided_json": {"type": "array", "uniqueItems": true, "größe": 1, "items":
    {"type": ["integer", "string"], "format": "topic", "größe": 2}})");
  ASSERT_EQ(reply.status, 200);
  std::vector<std::string> warnings;
  for (const json::value& line : reply.body.at("warnings").as_array())
    warnings.emplace_back(line.as_string());
  std::ranges::sort(warnings);
  const std::vector<std::string> expected{
      "guided_json/gr????e: 'gr????e' is not a keyword of JSON Schema and is ignored, also in 1 other places",
      "guided_json/items/format: the format 'topic' is unknown and ignored",
      "guided_json/uniqueItems: 'uniqueItems' is not enforced"};
  EXPECT_EQ(warnings, expected);
  EXPECT_NE(reply.headers.at("x-kvasir-warning").find("guided_json"), std::string::npos);
  EXPECT_FALSE(ask(R"(, "guided_json": {"type": "array"})").body.as_object().contains("warnings"));
}

TEST_F(StructuredOutputTest, ToolsWhoseSchemaIsNotEnforcedAreSaid) {
  serve(says(R"(<tool_call>{"name": "f", "arguments": {}}</tool_call>)"));
  const Reply reply =
      ask(R"(, "tool_choice": "required", "tools": [{"type": "function", "function": {"name": "f",
    "parameters": {"type": "object", "properties": {"a": {"contains": {"const": 1}}}}}}, {"type": "function",
    "function": {"name": "g", "parameters": {"type": "object", "properties": {"a": {"hint": 1}}}}}])");
  ASSERT_EQ(reply.status, 200) << reply.text;
  const json::array& warnings = reply.body.at("warnings").as_array();
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_TRUE(warnings[0].as_string().starts_with(
      "tools[0].function.parameters/properties/a/contains: the arguments may be any object"));
  EXPECT_EQ(warnings[1].as_string(),
            "tools[1].function.parameters/properties/a/hint: 'hint' is not a keyword of JSON Schema and is "
            "ignored");
}

// The worker reports during generation that the grammar is too expensive.
TEST_F(StructuredOutputTest, AGrammarThatGrowsTooExpensiveIsTheClientsError) {
  serve([](const wire::GenerateRequest&) {
    wire::TokenEvent event;
    event.error = base::Error{.code = base::ErrorCode::too_large,
                              .message = "the grammar takes too long to follow",
                              .reason = "grammar_too_complex"};
    return std::vector<wire::TokenEvent>{event};
  });
  const Reply reply = ask(R"(, "guided_regex": "a")");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.body.at("error").at("code").as_string(), "grammar_too_complex");
}

}  // namespace
}  // namespace kvasir::api

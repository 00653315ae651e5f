#include <gtest/gtest.h>

#include "api/answer/write/stream_events.h"
#include "api/api_fixture.h"
#include "api/items/chat_items.h"
#include "api/responses/responses_request.h"

namespace kvasir::api {
namespace {

std::string body(const std::string& more = "") {
  return R"({"model": "m", "input": "hi", "store": false)" + more + "}";
}

base::Result<ResponsesRequest> read(const std::string& text) {
  return read_responses_request(parse_object(text, 64).value());
}

std::string messages_text(const std::string& items) {
  auto request = read(R"({"model": "m", "input": )" + items + "}");
  if (!request.ok()) return request.error().field;
  auto messages = messages_of_items(request->items, 0, request->chat.params.warnings);
  if (!messages.ok()) return messages.error().field;
  return base::json_text(json::value(*messages));
}

TEST(ResponsesRequest, ItemsBecomeAChat) {
  EXPECT_EQ(messages_text(R"("hi")"), R"([{"role":"user","content":"hi"}])");
  EXPECT_EQ(messages_text(R"([{"role": "developer", "content": "Be kind."},
                              {"role": "user", "content": [{"type": "input_text", "text": "a"}]}])"),
            R"([{"role":"system","content":"Be kind."},{"role":"user","content":"a"}])");
  EXPECT_EQ(messages_text(R"([{"role": "user", "content": "q"},
      {"type": "reasoning", "id": "r", "summary": [], "content": [{"type": "reasoning_text", "text": "t"}]},
      {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "see"}]},
      {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{\"a\": 1}"},
      {"type": "function_call", "call_id": "2", "name": "g", "arguments": "{}"},
      {"type": "function_call_output", "call_id": "1", "output": "18"},
      {"type": "function_call_output", "call_id": "2", "output": [{"type": "input_text", "text": "x"}]}])"),
            R"([{"role":"user","content":"q"},)"
            R"({"role":"assistant","content":"see","reasoning_content":"t","tool_calls":[)"
            R"({"id":"1","type":"function","function":{"name":"f","arguments":{"a":1}}},)"
            R"({"id":"2","type":"function","function":{"name":"g","arguments":{}}}]},)"
            R"({"role":"tool","tool_call_id":"1","content":"18"},)"
            R"({"role":"tool","tool_call_id":"2","content":"x"}])");
  EXPECT_EQ(messages_text(R"([{"role": "user", "content": [{"type": "input_image"}]}])"),
            "input[0].content[0].type");
  EXPECT_EQ(messages_text(R"([{"role": "user", "content": "x"}, {"type": "computer_call"}])"),
            "input[1].type");
  EXPECT_EQ(messages_text(R"([{"type": "function_call_output", "output": "x"}])"), "input[0].call_id");
}

TEST(ResponsesRequest, WhatIsWrongIsNamed) {
  struct Case {
    std::string more;
    const char* field;
  };
  const Case cases[] = {
      {R"(, "max_output_tokens": 0)", "max_output_tokens"},
      {R"(, "temperature": 3)", "temperature"},
      {R"(, "truncation": "some")", "truncation"},
      {R"(, "include": ["nothing"])", "include"},
      {R"(, "top_logprobs": 2, "tools": [{"type": "function", "name": "f"}])", "include"},
      {R"(, "metadata": {"a": 1})", "metadata.a"},
      {R"(, "background": true)", "background"},
      {R"(, "stream_options": {"resumable": true})", "stream_options"},
      {R"(, "text": {"format": {"type": "json_schema"}})", "text.format.schema"},
      {R"(, "text": {"format": {"type": "grammar"}})", "text.format.type"},
      {R"(, "text": {"format": {"type": "json_schema", "name": 3, "schema": {}}})", "text.format.name"},
      {R"(, "text": {"format": {"type": "json_schema", "strict": "yes", "schema": {}}})",
       "text.format.strict"},
      {R"(, "stream": true, "stream_options": {"include_obfuscation": "no"})",
       "stream_options.include_obfuscation"},
      {R"(, "tools": [{"type": "function", "name": "f", "description": {}}])", "tools[0].description"},
      {R"(, "tools": [{"type": "sorcery"}])", "tools[0].type"},
      {R"(, "tools": [{"type": "web_search"}], "tool_choice": {"type": "web_search"})", "tool_choice.type"},
      {R"(, "tools": [{"type": "web_search"}], "tool_choice": "required")", "tool_choice"},
      {R"(, "tools": [{"type": "web_search"}, {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "a b"}]}])",
       "tools[1].tools[0].name"},
      {R"(, "tools": [{"type": "namespace", "name": "n"}])", "tools[0].tools"},
      {R"(, "tools": [{"type": "custom", "name": "c", "format": {"type": "grammar", "syntax": "ebnf", "definition": "x"}}])",
       "tools[0].format.syntax"},
      {R"(, "tools": [{"type": "function", "name": "a b"}])", "tools[0].name"},
      {R"(, "tools": [{"type": "function", "name": "f", "parameters": 3}])", "tools[0].parameters"},
      {R"(, "tool_choice": {"type": "function", "name": "f"})", "tool_choice"},
  };
  for (const Case& c : cases) {
    const auto request = read(body(c.more));
    ASSERT_FALSE(request.ok()) << c.more;
    EXPECT_EQ(request.error().field, c.field) << c.more;
  }
  EXPECT_EQ(read(R"({"model": "m"})").error().field, "input");
  EXPECT_EQ(read(R"({"model": "m", "input": []})").error().field, "input");
  EXPECT_EQ(read(R"({"model": "m", "input": [3]})").error().field, "input[0]");
}

TEST_F(ApiTest, ResponsesAnswerInOpenAIsShape) {
  serve(says("Hé ✓"));
  const Reply reply = post("/v1/responses", body(R"(, "instructions": "Be kind.", "metadata": {"k": "v"},
                                                    "max_output_tokens": 50, "temperature": 0)"));
  ASSERT_EQ(reply.status, 200) << reply.text;
  EXPECT_TRUE(reply.body.at("id").as_string().starts_with("resp_"));
  EXPECT_EQ(reply.body.at("object").as_string(), "response");
  EXPECT_EQ(reply.body.at("status").as_string(), "completed");
  EXPECT_EQ(reply.body.at_pointer("/output/0/content/0/text").as_string(), "Hé ✓");
  EXPECT_EQ(reply.body.at_pointer("/output/0/role").as_string(), "assistant");
  EXPECT_EQ(reply.body.at_pointer("/metadata/k").as_string(), "v");
  EXPECT_EQ(reply.body.at("instructions").as_string(), "Be kind.");
  EXPECT_EQ(reply.body.at("store").as_bool(), false);
  const auto request = worker_->wait_for(0).request;
  EXPECT_EQ(request.max_tokens, 50);
  EXPECT_EQ(reply.body.at_pointer("/usage/input_tokens").to_number<std::size_t>(), request.prompt.size());
  EXPECT_EQ(reply.body.at_pointer("/usage/input_tokens_details/cached_tokens").to_number<int>(), 2);
  const std::string prompt = router::byte_tokenizer()->decode(request.prompt, text::SpecialOutput::keep);
  EXPECT_NE(prompt.find("<|im_start|>system\nBe kind.<|im_end|>"), std::string::npos) << prompt;
}

TEST_F(ApiTest, ResponsesStream) {
  serve(says("one two"));
  const Reply reply = post("/v1/responses", body(R"(, "stream": true)"));
  const auto events = stream_events(reply.text);
  ASSERT_GE(events.size(), 8u) << reply.text;
  std::string names;
  std::string text;
  for (const StreamEvent& event : events) {
    if (event.name == "response.output_text.delta")
      text += event.data.at("delta").as_string();
    else
      names += event.name + "\n";
  }
  EXPECT_EQ(text, "one two");
  EXPECT_EQ(names,
            "response.created\nresponse.in_progress\nresponse.output_item.added\n"
            "response.content_part.added\nresponse.output_text.done\nresponse.content_part.done\n"
            "response.output_item.done\nresponse.completed\n");
  EXPECT_EQ(reply.headers.at("x-stream-id"), events[0].data.at("response").at("id").as_string());
}

TEST_F(ApiTest, ResponsesCallTools) {
  serve(says("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>"));
  const Reply reply =
      post("/v1/responses", body(R"(, "tools": [{"type": "function", "name": "f", "strict": false,
      "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}], "tool_choice": "auto")"));
  ASSERT_EQ(reply.status, 200) << reply.text;
  const json::value& call = reply.body.at_pointer("/output/0");
  EXPECT_EQ(call.at("type").as_string(), "function_call");
  EXPECT_EQ(call.at("name").as_string(), "f");
  EXPECT_EQ(base::parse_json(call.at("arguments").as_string()).value().at("a").to_number<int>(), 1);
  EXPECT_NE(call.at("id"), call.at("call_id"));
}

// The kinds of tools that Codex sends.
constexpr const char* kAgentTools = R"(, "tools": [
    {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}},
    {"type": "namespace", "name": "agents", "description": "d", "tools": [
      {"type": "function", "name": "close", "parameters": {"type": "object", "properties": {"id": {"type": "string"}}}}]},
    {"type": "custom", "name": "patch", "description": "Edits.", "format":
      {"type": "grammar", "syntax": "lark", "definition": "start: \"x\""}},
    {"type": "web_search", "external_web_access": true}])";

TEST(ResponsesRequest, ToolsOfAllKindsBecomeFunctions) {
  const auto request = read(body(kAgentTools));
  ASSERT_TRUE(request.ok()) << request.error().message;
  std::vector<std::string> names;
  for (const auto& tool : request->chat.tools.tools) names.push_back(tool.name);
  EXPECT_EQ(names, (std::vector<std::string>{"f", "agents__close", "patch"}));
  EXPECT_EQ(request->client_tools.at("agents__close").name_space, "agents");
  EXPECT_TRUE(request->client_tools.at("patch").is_custom);
  EXPECT_EQ(request->chat.tools.definitions[2].at_pointer("/function/description").as_string(),
            "Edits.\nThe input follows this Lark grammar:\nstart: \"x\"");
  EXPECT_EQ(request->chat.tools.tools[2].lark, "start: \"x\"");
  EXPECT_EQ(request->chat.tools.tools[2].lark_field, "tools[2].format.definition");
  ASSERT_EQ(request->chat.params.warnings.size(), 1u);
  EXPECT_EQ(request->chat.params.warnings[0],
            "tools[3]: left out, this server has no tool of type web_search");
  const auto regex = read(body(R"(, "tools": [{"type": "custom", "name": "c", "format":
      {"type": "grammar", "syntax": "regex", "definition": "[a-z]+"}}], "tool_choice": {"type": "custom", "name": "c"})"));
  ASSERT_TRUE(regex.ok()) << regex.error().message;
  EXPECT_EQ(regex->chat.tools.tools[0].parameters.at_pointer("/properties/input/pattern"), "^(?:[a-z]+)$");
  EXPECT_EQ(regex->chat.tools.named, "c");
  EXPECT_TRUE(regex->chat.params.warnings.empty());
}

TEST(ResponsesRequest, ItemsOfAgentsBecomeAChat) {
  EXPECT_EQ(
      messages_text(R"([{"role": "user", "content": "q"},
      {"type": "reasoning", "summary": [], "encrypted_content": "x"},
      {"type": "web_search_call", "id": "w", "status": "completed"},
      {"type": "compaction", "encrypted_content": "x"},
      {"type": "custom_tool_call", "call_id": "1", "name": "patch", "input": "a\nb"},
      {"type": "function_call", "call_id": "2", "namespace": "agents", "name": "close", "arguments": "{}"},
      {"type": "local_shell_call", "call_id": "3", "status": "completed",
       "action": {"type": "exec", "command": ["ls"]}},
      {"type": "custom_tool_call_output", "call_id": "1", "output": "done"},
      {"type": "function_call_output", "call_id": "2", "output": "closed"},
      {"type": "local_shell_call_output", "call_id": "3", "output": "notes.txt"}])"),
      R"([{"role":"user","content":"q"},{"role":"assistant","content":"","tool_calls":[)"
      R"({"id":"1","type":"function","function":{"name":"patch","arguments":{"input":"a\nb"}}},)"
      R"({"id":"2","type":"function","function":{"name":"agents__close","arguments":{}}},)"
      R"({"id":"3","type":"function","function":{"name":"local_shell","arguments":{"type":"exec","command":["ls"]}}}]},)"
      R"({"role":"tool","tool_call_id":"1","content":"done"},)"
      R"({"role":"tool","tool_call_id":"2","content":"closed"},)"
      R"({"role":"tool","tool_call_id":"3","content":"notes.txt"}])");
  EXPECT_EQ(messages_text(R"([{"type": "local_shell_call", "call_id": "3"}])"), "input[0].action");
  EXPECT_EQ(messages_text(R"([{"type": "custom_tool_call", "call_id": "3", "name": "x"}])"),
            "input[0].input");
}

TEST_F(ApiTest, CallsComeBackInTheClientsKinds) {
  serve(says(R"(<tool_call>
{"name": "agents__close", "arguments": {"id": "7"}}
</tool_call>
<tool_call>
{"name": "patch", "arguments": {"input": "a\nb"}}
</tool_call>)"));
  const Reply reply =
      post("/v1/responses", R"({"model": "m", "input": "hi")" + std::string(kAgentTools) + "}");
  ASSERT_EQ(reply.status, 200) << reply.text;
  const json::value& close = reply.body.at_pointer("/output/0");
  EXPECT_EQ(close.at("type"), "function_call");
  EXPECT_EQ(close.at("namespace"), "agents");
  EXPECT_EQ(close.at("name"), "close");
  const json::value& patch = reply.body.at_pointer("/output/1");
  EXPECT_EQ(patch.at("type"), "custom_tool_call");
  EXPECT_EQ(patch.at("name"), "patch");
  EXPECT_EQ(patch.at("input"), "a\nb");
  EXPECT_FALSE(patch.as_object().contains("arguments"));
  EXPECT_EQ(reply.body.at("warnings").as_array().size(), 1u);
  const Reply streamed = post("/v1/responses", body(kAgentTools + std::string(R"(, "stream": true)")));
  const std::string id(reply.body.at("id").as_string());
  for (const std::string& text : {streamed.text, get("/v1/responses/" + id + "?stream=true").text}) {
    std::string input;
    for (const StreamEvent& event : stream_events(text)) {
      if (event.name == "response.custom_tool_call_input.delta") input += event.data.at("delta").as_string();
      if (event.name == "response.custom_tool_call_input.done") {
        EXPECT_EQ(event.data.at("input").as_string(), input);
      }
    }
    EXPECT_EQ(input, "a\nb");
  }
}

TEST_F(ApiTest, AGrammarThatCannotBeReadIsNamedWithItsLine) {
  serve(says("x"));
  const Reply reply = post("/v1/responses", body(R"(, "tools": [{"type": "web_search"},
      {"type": "custom", "name": "c", "format": {"type": "grammar", "syntax": "lark",
       "definition": "start: a\na: pair{\"x\"}"}}])"));
  EXPECT_EQ(reply.status, 400) << reply.text;
  EXPECT_EQ(reply.body.at_pointer("/error/param"), "tools[1].format.definition");
  EXPECT_NE(reply.text.find("rule templates are not supported (line 2)"), std::string::npos) << reply.text;
}

TEST(ResponsesRequest, AllowedToolsAreThoseOfAChat) {
  const std::string tools =
      R"(, "tools": [{"type": "function", "name": "f"}, {"type": "function", "name": "g"}])";
  const auto request = read(body(
      tools +
      R"(, "tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "g"}]})"));
  ASSERT_TRUE(request.ok()) << request.error().message;
  ASSERT_EQ(request->chat.tools.tools.size(), 1u);
  EXPECT_EQ(request->chat.tools.tools[0].name, "g");
  EXPECT_EQ(request->chat.tools.choice, ToolSettings::Choice::required);
}

TEST_F(ApiTest, ResponsesTruncateWhereTheyMay) {
  serve(says("x"), 400);
  std::string items = R"({"role": "system", "content": "Be kind."})";
  for (int i = 0; i < 20; ++i)
    items += R"(, {"role": "user", "content": "question )" + std::to_string(i) +
             R"( with some words"}, {"role": "assistant", "content": "an answer"})";
  items += R"(, {"role": "user", "content": "the last one"})";
  const auto ask = [&](const char* truncation) {
    return post("/v1/responses", R"({"model": "m", "store": false, "truncation": ")" +
                                     std::string(truncation) + R"(", "max_output_tokens": 100, "input": [)" +
                                     items + "]}");
  };
  const Reply refused = ask("disabled");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.body.at_pointer("/error/param").as_string(), "input");
  EXPECT_EQ(refused.body.at_pointer("/error/code").as_string(), "context_length_exceeded");
  ASSERT_EQ(ask("auto").status, 200);
  const auto request = worker_->wait_for(0).request;
  const std::string prompt = router::byte_tokenizer()->decode(request.prompt, text::SpecialOutput::keep);
  EXPECT_NE(prompt.find("Be kind."), std::string::npos) << prompt;
  EXPECT_NE(prompt.find("the last one"), std::string::npos);
  EXPECT_NE(prompt.find("question 19"), std::string::npos);
  EXPECT_EQ(prompt.find("question 3 "), std::string::npos);
  EXPECT_LE(request.prompt.size() + 100, 400u);
}

std::string prompt_of(router::ScriptedWorker& worker, std::size_t number) {
  return router::byte_tokenizer()->decode(worker.wait_for(number).request.prompt, text::SpecialOutput::keep);
}

TEST_F(ApiTest, AResponseGoesOnFromAStoredOne) {
  serve(says("Hello Ada."));
  const Reply first =
      post("/v1/responses", R"({"model": "m", "input": "I am Ada.", "instructions": "Be kind."})");
  ASSERT_EQ(first.status, 200) << first.text;
  const std::string id(first.body.at("id").as_string());
  const auto go_on = [](const std::string& previous, const std::string& more) {
    return R"({"model": "m", "input": "Who am I?", "previous_response_id": ")" + previous + "\"" + more + "}";
  };
  const Reply second = post("/v1/responses", go_on(id, R"(, "stream": true)"));
  ASSERT_EQ(second.status, 200) << second.text;
  const json::value streamed = stream_events(second.text).back().data.at("response");
  EXPECT_EQ(streamed.at("previous_response_id").as_string(), id);
  const std::string prompt = prompt_of(*worker_, 1);
  EXPECT_NE(prompt.find("I am Ada.<|im_end|>\n<|im_start|>assistant\nHello Ada.<|im_end|>"),
            std::string::npos)
      << prompt;
  EXPECT_NE(prompt.find("Who am I?"), std::string::npos);
  EXPECT_EQ(prompt.find("Be kind."), std::string::npos);  // instructions are not inherited

  const std::string next(streamed.at("id").as_string());
  EXPECT_EQ(get("/v1/responses/" + next).body, streamed);
  EXPECT_EQ(get("/v1/responses/" + id).body, first.body);
  const Reply items = get("/v1/responses/" + next + "/input_items?order=asc");
  ASSERT_EQ(items.status, 200) << items.text;
  EXPECT_EQ(items.body.at("data").as_array().size(), 3u);
  EXPECT_EQ(items.body.at_pointer("/data/2/content/0/text").as_string(), "Who am I?");
  const Reply one = get("/v1/responses/" + next + "/input_items?limit=1");
  EXPECT_EQ(one.body.at("data").as_array().size(), 1u);
  EXPECT_EQ(one.body.at("has_more").as_bool(), true);
  EXPECT_EQ(one.body.at("data").at(0), items.body.at("data").at(2));
  const Reply rest =
      get("/v1/responses/" + next + "/input_items?after=" + std::string(one.body.at("last_id").as_string()));
  EXPECT_EQ(rest.body.at("data").as_array().size(), 2u);
  EXPECT_EQ(get("/v1/responses/" + next + "/input_items?after=nothing").status, 400);
  EXPECT_EQ(get("/v1/responses/" + next + "/input_items?order=null").status, 400);
}

TEST_F(ApiTest, WrongResponsesAreRefused) {
  serve(says("x"));
  const auto status_of = [&](const std::string& fields) {
    return post("/v1/responses", R"({"model": "m", )" + fields + "}").status;
  };
  EXPECT_EQ(status_of(R"("input": "hi", "reasoning": {"effort": "none"})"), 200);
  EXPECT_EQ(status_of(R"("input": "hi", "service_tier": "first class")"), 400);
  EXPECT_EQ(status_of(R"("input": "hi", "reasoning": {"effort": "xyz"})"), 400);
  EXPECT_EQ(status_of(R"("input": [{"role": "user", "content": "hi", "id": 5}])"), 400);
  EXPECT_EQ(status_of(R"("input": [{"role": "user", "content": "hi", "id": null, "type": null}])"), 200);
}

TEST_F(ApiTest, AnEffortIsTheSameInBothApis) {
  serve(says("x"));
  const Reply response = post("/v1/responses", body(R"(, "reasoning": {"effort": "low"})"));
  const Reply chat = post("/v1/chat/completions", chat_body(R"(, "reasoning_effort": "low")"));
  const Reply message = post("/v1/messages", R"({"model": "m", "max_tokens": 9, "messages": [
      {"role": "user", "content": "hi"}], "output_config": {"effort": "high"}})");
  EXPECT_EQ(response.headers.at("x-kvasir-warning"),
            "reasoning.effort: ignored, this model has no levels of effort");
  EXPECT_EQ(chat.body.at_pointer("/warnings/0"),
            "reasoning_effort: ignored, this model has no levels of effort");
  EXPECT_EQ(message.body.at_pointer("/warnings/0"),
            "output_config.effort: ignored, this model has no levels of effort");
  EXPECT_EQ(response.body.at("warnings").as_array().size(), 1u);
}

// Checks the fields that OpenAI's test suite for compatible servers wants in every response.
TEST_F(ApiTest, AResponseHasAllFieldsOfOpenResponses) {
  serve(says("x"));
  const Reply reply = post("/v1/responses", body(R"(, "presence_penalty": 0.5, "safety_identifier": "me",
      "tools": [{"type": "function", "name": "f"}])"));
  ASSERT_EQ(reply.status, 200) << reply.text;
  EXPECT_GE(reply.body.at("completed_at").to_number<std::int64_t>(),
            reply.body.at("created_at").to_number<std::int64_t>());
  EXPECT_EQ(reply.body.at("presence_penalty").to_number<double>(), 0.5);
  EXPECT_EQ(reply.body.at("frequency_penalty").to_number<double>(), 0);
  EXPECT_TRUE(reply.body.at("max_tool_calls").is_null());
  EXPECT_EQ(reply.body.at("safety_identifier"), "me");
  EXPECT_TRUE(reply.body.at("prompt_cache_key").is_null());
  EXPECT_TRUE(reply.body.at_pointer("/tools/0").as_object().contains("strict"));
  EXPECT_EQ(worker_->wait_for(0).request.sampling.presence_penalty, 0.5F);
}

TEST_F(ApiTest, AVerbosityIsToldToHaveNoEffect) {
  serve(says("x"));
  const Reply response = post("/v1/responses", body(R"(, "text": {"verbosity": "low"})"));
  EXPECT_EQ(response.body.at("warnings").as_array().size(), 1u) << response.text;
  const Reply chat = post("/v1/chat/completions", chat_body(R"(, "verbosity": "high")"));
  EXPECT_EQ(chat.body.at("warnings").as_array().size(), 1u) << chat.text;
  EXPECT_EQ(post("/v1/chat/completions", chat_body(R"(, "verbosity": "loud")")).status, 400);
}

TEST_F(ApiTest, AResponseIsServedInOneTier) {
  serve(says("x"));
  const Reply reply = post("/v1/responses", body(R"(, "service_tier": "priority")"));
  ASSERT_EQ(reply.status, 200) << reply.text;
  EXPECT_EQ(reply.body.at("service_tier"), "default");
}

TEST_F(ApiTest, ResponseItemsOfOneIdGetTheirOwn) {
  serve(says("x"));
  const Reply answer = post("/v1/responses", R"({"model": "m", "input": [
      {"role": "user", "content": "a", "id": "i"}, {"role": "user", "content": "b", "id": "i"}]})");
  ASSERT_EQ(answer.status, 200) << answer.text;
  const std::string id(answer.body.at("id").as_string());
  const json::value items = get("/v1/responses/" + id + "/input_items?order=asc").body;
  EXPECT_EQ(items.at_pointer("/data/0/id").as_string(), "i");
  EXPECT_NE(items.at_pointer("/data/1/id").as_string(), "i");
}

TEST_F(ApiTest, ResponsesAreStoredUnlessTheyAskNotToBe) {
  serve(says("x"));
  const auto create = [&](const std::string& more) {
    return post("/v1/responses", R"({"model": "m", "input": "hi")" + more + "}");
  };
  const std::string id(create("").body.at("id").as_string());
  const std::string fleeting(create(R"(, "store": false)").body.at("id").as_string());
  EXPECT_EQ(get("/v1/responses/" + id).status, 200);
  EXPECT_EQ(get("/v1/responses/" + fleeting).status, 404);
  const Reply lost = create(R"(, "previous_response_id": ")" + fleeting + "\"");
  EXPECT_EQ(lost.status, 400);
  const Reply deleted = exchange("DELETE /v1/responses/" + id + " HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(deleted.status, 200);
  EXPECT_EQ(deleted.body.at("deleted").as_bool(), true);
  EXPECT_EQ(get("/v1/responses/" + id).status, 404);
  EXPECT_EQ(exchange("DELETE /v1/responses/" + id + " HTTP/1.1\r\nHost: x\r\n\r\n").status, 404);
}

}  // namespace
}  // namespace kvasir::api

#include <gtest/gtest.h>

#include "api/answer/stream_events.h"
#include "api/api_fixture.h"
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
  auto messages = messages_of_items(request->items, 0);
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
      {R"(, "tools": [{"type": "web_search"}])", "tools[0].type"},
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
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(chat.status, 400);
  EXPECT_EQ(response.body.at_pointer("/error/param"), "reasoning.effort");
  EXPECT_EQ(response.body.at_pointer("/error/code"), chat.body.at_pointer("/error/code"));
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

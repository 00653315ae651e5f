#include <gtest/gtest.h>

#include "api/answer/write/stream_events.h"
#include "api/anthropic/messages_request.h"
#include "api/api_fixture.h"

namespace kvasir::api {
namespace {

std::string body(const std::string& more = "") {
  return R"({"model": "m", "max_tokens": 64, "messages": [{"role": "user", "content": "hi"}])" + more + "}";
}

base::Result<MessagesRequest> read(const std::string& text) {
  return read_messages_request(parse_object(text, 64).value());
}

std::string messages_text(const std::string& messages, const std::string& more = "") {
  auto request = read(R"({"model": "m", "max_tokens": 9, "messages": )" + messages + more + "}");
  if (!request.ok()) return request.error().field + ": " + request.error().message;
  return base::json_text(json::value(request->chat.messages));
}

TEST(MessagesRequest, BlocksBecomeAChat) {
  EXPECT_EQ(messages_text(R"([{"role": "user", "content": [{"type": "text", "text": "a"},
                              {"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}}]}])",
                          R"(, "system": [{"type": "text", "text": "Be kind."}])"),
            R"([{"role":"system","content":"Be kind."},{"role":"user","content":"a\nb"}])");
  EXPECT_EQ(messages_text(R"([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}])"),
            R"([{"role":"user","content":"a\nb"}])");
  EXPECT_EQ(
      messages_text(R"([{"role": "user", "content": "q"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": ""},
          {"type": "text", "text": "see"}, {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1",
          "content": [{"type": "text", "text": "18"}]}, {"type": "text", "text": "so?"}]}])"),
      R"([{"role":"user","content":"q"},)"
      R"({"role":"assistant","content":"see","reasoning_content":"t","tool_calls":[{"id":"1","type":"function",)"
      R"("function":{"name":"f","arguments":{"a":1}}}]},)"
      R"({"role":"tool","tool_call_id":"1","content":"18"},{"role":"user","content":"so?"}])");
}

TEST(MessagesRequest, ASystemMessageMayBeShownForOneTurn) {
  const auto reminder = [](const std::string& clear_at) {
    return R"([{"role": "user", "content": "a"}, {"role": "system", "content": "s", "clear_at": )" +
           clear_at + "}";
  };
  const std::string later = R"(, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}])";
  const std::string answered = R"({"role":"assistant","content":"b"},{"role":"user","content":"c"}])";
  EXPECT_EQ(messages_text(reminder(R"("next_user_message")") + later),
            R"([{"role":"user","content":"a"},)" + answered);
  EXPECT_EQ(messages_text(reminder(R"("never")") + later),
            R"([{"role":"user","content":"a"},{"role":"system","content":"s"},)" + answered);
  EXPECT_EQ(messages_text(reminder(R"("next_user_message")") + "]"),
            R"([{"role":"user","content":"a"},{"role":"system","content":"s"}])");
  EXPECT_EQ(
      messages_text(R"([{"role": "user", "content": "a"}, {"role": "system", "clear_at": "next_user_message",
      "content": [{"type": "text", "text": "s"},
                  {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "f"}}]},
      {"role": "user", "content": "c"}])"),
      R"([{"role":"user","content":"a"},{"role":"system","content":"The tool f is no longer available now."},)"
      R"({"role":"user","content":"c"}])");
}

TEST(MessagesRequest, AnEffortOfOneTurnIsAWarning) {
  const auto request = read(R"({"model": "m", "max_tokens": 9, "messages": [
      {"role": "system", "output_config": {"effort": "low"}}, {"role": "user", "content": "a"},
      {"role": "system", "content": "s", "output_config": {"effort": "high"}}]})");
  ASSERT_TRUE(request.ok()) << request.error().message;
  ASSERT_EQ(request->chat.params.warnings.size(), 1u);
  EXPECT_EQ(request->chat.params.warnings[0].find("messages.output_config.effort: "), 0u);
  EXPECT_EQ(request->chat.messages.size(), 2u);
}

TEST(MessagesRequest, TheLastMessageMayBeginTheAnswer) {
  const auto request = read(R"({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"},
                                {"role": "assistant", "content": "The best is ("}]})");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->chat.prefill, "The best is (");
  EXPECT_EQ(request->chat.messages.size(), 1u);
}

// Claude Code defers most of its tools, and adds and removes some during the conversation.
TEST(MessagesRequest, ToolsAreOfferedOnceTheyAreLoaded) {
  const auto names = [](const std::string& messages) {
    const auto request = read(R"({"model": "m", "max_tokens": 9, "tools": [
        {"name": "now", "input_schema": {"type": "object"}},
        {"name": "later", "input_schema": {"type": "object"}, "defer_loading": true}], "messages": )" +
                              messages + "}");
    if (!request.ok()) return request.error().field;
    std::string text;
    for (const auto& tool : request->chat.tools.tools) text += tool.name + " ";
    return text;
  };
  EXPECT_EQ(names(R"([{"role": "user", "content": "hi"}])"), "now ");
  EXPECT_EQ(
      names(
          R"([{"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "now", "input": {}}]},
      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": [
        {"type": "tool_reference", "tool_name": "later"}]}]}])"),
      "now later ");
  const std::string add = R"({"role": "system", "content": [{"type": "tool_addition", "tool":
      {"type": "tool_reference", "name": "later"}}]})";
  const std::string remove = R"({"role": "system", "content": [{"type": "tool_removal", "tool":
      {"type": "tool_reference", "name": "now"}}]})";
  EXPECT_EQ(names(R"([{"role": "user", "content": "hi"}, )" + add + "]"), "now later ");
  EXPECT_EQ(names(R"([{"role": "user", "content": "hi"}, )" + add + ", " + remove + "]"), "later ");
  EXPECT_EQ(
      names(
          R"([{"role": "system", "content": [{"type": "tool_addition", "tool": {"type": "tool_definition"}}]}])"),
      "messages[0].content[0].tool.type");
}

TEST(MessagesRequest, WhatOnlyTunesClaudeIsAWarning) {
  const auto warnings = [](const std::string& more) {
    const auto request = read(body(more));
    return request.ok() ? request->chat.params.warnings.size() : 99;
  };
  EXPECT_EQ(
      warnings(R"(, "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]})"),
      0u);
  EXPECT_EQ(warnings(R"(, "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]})"), 1u);
  EXPECT_EQ(warnings(R"(, "output_config": {"task_budget": {"type": "tokens", "total": 9}})"), 1u);
  EXPECT_EQ(warnings(R"(, "mcp_servers": [])"), 0u);
  EXPECT_EQ(read(body(R"(, "output_config": {"effort": "max"})"))->chat.reasoning_effort, "max");
  const std::string long_name(128, 'n');
  EXPECT_TRUE(
      read(body(R"(, "tools": [{"name": ")" + long_name + R"(", "input_schema": {"type": "object"}}])"))
          .ok());
}

TEST_F(ApiTest, AThreadIsRefusedInTheWayThatClientsActOn) {
  serve(says("x"));
  const Reply reply = post("/v1/messages", body(R"(, "thread": {"type": "create"})"));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.body.at_pointer("/error/details/error_code"), "thread_unsupported_request");
  EXPECT_EQ(reply.body.at_pointer("/error/details/unsupported/0"), "thread");
}

TEST(MessagesRequest, ToolsAreReadAsAnthropicHasThem) {
  const std::string tools =
      R"(, "tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}},
                                           {"name": "g", "type": "custom", "input_schema": {"type": "object"}}])";
  const auto read_with = [&](const std::string& choice) { return read(body(tools + choice)); };
  EXPECT_EQ(read_with("")->chat.tools.choice, ToolSettings::Choice::automatic);
  EXPECT_EQ(read_with(R"(, "tool_choice": {"type": "any"})")->chat.tools.choice,
            ToolSettings::Choice::required);
  EXPECT_FALSE(read_with(R"(, "tool_choice": {"type": "none"})")->chat.tools.may_call());
  const auto named =
      read_with(R"(, "tool_choice": {"type": "tool", "name": "g", "disable_parallel_tool_use": true})");
  EXPECT_EQ(named->chat.tools.named, "g");
  EXPECT_FALSE(named->chat.tools.parallel);
  EXPECT_EQ(
      base::json_text(named->chat.tools.definitions.at(0)),
      R"({"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}})");
}

TEST(MessagesRequest, WhatIsWrongIsNamed) {
  struct Case {
    std::string body;
    const char* field;
  };
  const auto with_block = [](const std::string& block) {
    return R"({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [)" + block + "]}]}";
  };
  const Case cases[] = {
      {R"({"max_tokens": 9, "messages": [{"role": "user", "content": "x"}]})", "model"},
      {R"({"model": "m", "messages": [{"role": "user", "content": "x"}]})", "max_tokens"},
      {R"({"model": "m", "max_tokens": 0, "messages": [{"role": "user", "content": "x"}]})", "max_tokens"},
      {R"({"model": "m", "max_tokens": 9})", "messages"},
      {R"({"model": "m", "max_tokens": 9, "messages": []})", "messages"},
      {R"({"model": "m", "max_tokens": 9, "messages": [{"role": "tool", "content": "x"}]})",
       "messages[0].role"},
      {R"({"model": "m", "max_tokens": 9, "messages": [{"role": "user"}]})", "messages[0].content"},
      {R"({"model": "m", "max_tokens": 9, "messages": [{"role": "assistant", "content": "a "}]})",
       "messages"},
      {with_block(R"({"type": "image", "source": {}})"), "messages[0].content[0].type"},
      {with_block(R"({"type": "document", "source": {}})"), "messages[0].content[0].type"},
      {with_block(R"({"type": "tool_use", "id": "1"})"), "messages[0].content[0].type"},
      {with_block(R"({"type": "tool_result"})"), "messages[0].content[0].tool_use_id"},
      {with_block(R"({"type": "text"})"), "messages[0].content[0].text"},
      {with_block("3"), "messages[0].content[0]"},
      {body(R"(, "temperature": 1.5)"), "temperature"},
      {body(R"(, "top_k": -1)"), "top_k"},
      {body(R"(, "stop_sequences": [""])"), "stop_sequences[0]"},
      {body(R"(, "system": [{"type": "image"}])"), "system[0].type"},
      {body(R"(, "tools": [{"name": "f"}])"), "tools[0].input_schema"},
      {body(R"(, "tools": [{"name": "a b", "input_schema": {}}])"), "tools[0].name"},
      {body(R"(, "tools": [{"name": "f", "input_schema": 3}])"), "tools[0].input_schema"},
      {body(R"(, "tools": [{"type": "web_search_20250305", "name": "web_search"}])"), "tools[0].type"},
      {body(R"(, "tool_choice": {"type": "any"})"), "tool_choice"},
      {body(R"(, "tool_choice": "auto")"), "tool_choice"},
      {body(R"(, "thinking": {"type": "maybe"})"), "thinking.type"},
      {body(R"(, "thinking": {"type": "enabled", "budget_tokens": "many"})"), "thinking.budget_tokens"},
      {body(R"(, "tools": [{"name": "f", "description": 3, "input_schema": {}}])"), "tools[0].description"},
      {body(R"(, "output_config": {"format": {"type": "xml"}})"), "output_config.format.type"},
      {body(R"(, "container": "c")"), "container"},
  };
  for (const Case& c : cases) {
    const auto request = read(c.body);
    ASSERT_FALSE(request.ok()) << c.body;
    EXPECT_EQ(request.error().field, c.field) << c.body;
  }
}

TEST_F(ApiTest, MessagesAnswerInAnthropicsShape) {
  serve(says("Hé ✓"));
  const Reply reply = post("/v1/messages", body(R"(, "system": "Be kind.", "metadata": {"user_id": "u"})"));
  ASSERT_EQ(reply.status, 200) << reply.text;
  EXPECT_EQ(reply.headers.at("request-id"), reply.headers.at("x-request-id"));
  EXPECT_TRUE(reply.body.at("id").as_string().starts_with("msg_"));
  EXPECT_EQ(reply.body.at("role").as_string(), "assistant");
  EXPECT_EQ(base::json_text(reply.body.at("content")), R"([{"type":"text","text":"Hé ✓"}])");
  EXPECT_EQ(reply.body.at("stop_reason").as_string(), "end_turn");
  const auto request = worker_->wait_for(0).request;
  EXPECT_EQ(request.max_tokens, 64);
  const int total = static_cast<int>(request.prompt.size());
  EXPECT_EQ(reply.body.at("usage").at("input_tokens").to_number<int>(), total - 2);
  EXPECT_EQ(reply.body.at("usage").at("cache_read_input_tokens").to_number<int>(), 2);
  const std::string prompt = router::byte_tokenizer()->decode(request.prompt, text::SpecialOutput::keep);
  EXPECT_NE(prompt.find("<|im_start|>system\nBe kind.<|im_end|>"), std::string::npos) << prompt;
  const Reply count = post("/v1/messages/count_tokens", body(R"(, "system": "Be kind.")"));
  EXPECT_EQ(count.body.at("input_tokens").to_number<int>(), total);
}

TEST_F(ApiTest, MessagesGoOnFromThePrefill) {
  serve(says("B)"));
  post("/v1/messages", R"({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"},
                          {"role": "assistant", "content": "The best is ("}]})");
  const std::string prompt =
      router::byte_tokenizer()->decode(worker_->wait_for(0).request.prompt, text::SpecialOutput::keep);
  EXPECT_TRUE(prompt.ends_with("<|im_start|>assistant\nThe best is (")) << prompt;
}

TEST_F(ApiTest, MessagesStream) {
  serve(says("one two STOP three"));
  const Reply reply = post("/v1/messages", body(R"(, "stream": true, "stop_sequences": ["STOP"])"));
  ASSERT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.headers.at("x-stream-id").starts_with("msg_"));
  EXPECT_EQ(reply.headers.at("request-id"), reply.headers.at("x-request-id"));
  const auto events = stream_events(reply.text);
  ASSERT_GE(events.size(), 6u);
  EXPECT_EQ(events[0].name, "message_start");
  EXPECT_EQ(events[1].name, "ping");
  EXPECT_EQ(events[2].name, "content_block_start");
  std::string text;
  for (const StreamEvent& event : events)
    if (event.name == "content_block_delta") text += event.data.at("delta").at("text").as_string();
  EXPECT_EQ(text, "one two ");
  const StreamEvent& end = events[events.size() - 2];
  EXPECT_EQ(end.name, "message_delta");
  EXPECT_EQ(end.data.at("delta").at("stop_sequence").as_string(), "STOP");
  EXPECT_EQ(end.data.at("usage").at("output_tokens").to_number<int>(), 12);
  EXPECT_EQ(events.back().name, "message_stop");
}

TEST_F(ApiTest, MessagesErrorsAreAnthropics) {
  serve(says("x"));
  const auto type = [](const Reply& reply) {
    return std::string(reply.body.at("error").at("type").as_string());
  };
  const Reply wrong = post("/v1/messages", body(R"(, "temperature": 9)"));
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(wrong.body.at("type").as_string(), "error");
  EXPECT_EQ(type(wrong), "invalid_request_error");
  EXPECT_NE(wrong.text.find("temperature"), std::string::npos);
  const Reply unknown = post("/v1/messages", R"({"model": "n", "max_tokens": 1, "messages": [
                                                 {"role": "user", "content": "x"}]})");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(type(unknown), "not_found_error");
  EXPECT_EQ(type(get("/v1/messages")), "invalid_request_error");
  EXPECT_EQ(type(post("/v1/messages/nothing", "{}")), "not_found_error");
  worker_->refuse_with({.code = base::ErrorCode::unavailable, .message = "busy", .retry_after_s = 3});
  const Reply busy = post("/v1/messages", body());
  EXPECT_EQ(busy.status, 529);
  EXPECT_EQ(type(busy), "overloaded_error");
  EXPECT_EQ(busy.headers.at("retry-after"), "3");
}

TEST_F(ApiTest, MessagesEndWithTheirClient) {
  serve();
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/messages", body(R"(, "stream": true)"), ""));
  const auto asked = worker_->wait_for(0);
  client.reset();
  EXPECT_TRUE(eventually([&] { return asked.stream->cancelled(); }));
}

}  // namespace
}  // namespace kvasir::api

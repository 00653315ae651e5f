#include "api/answer/server_tools/server_tools_fixture.h"

namespace kvasir::api {
namespace {

TEST_F(ServerToolsTest, ACallIsRunAndTheModelGoesOn) {
  serve_calls("Wait.\n" + call_of("add"));
  const Reply reply = ask(R"(["add"])");
  ASSERT_EQ(reply.status, 200) << reply.text;
  EXPECT_EQ(message(reply).at("content"), "Wait.Done.");
  EXPECT_FALSE(message(reply).as_object().contains("tool_calls"));
  EXPECT_EQ(reply.body.at("choices").at(0).at("finish_reason"), "stop");
  ASSERT_EQ(calls(reply).size(), 1u);
  EXPECT_EQ(calls(reply)[0].at("name"), "add");
  EXPECT_EQ(calls(reply)[0].at("arguments"), R"({"a": 1})");
  EXPECT_EQ(calls(reply)[0].at("status"), "completed");
  EXPECT_EQ(calls(reply)[0].at("output"), R"(sum of {"a":1})");
  const std::string first = prompt_text(worker_->wait_for(0).request);
  const std::string second = prompt_text(worker_->wait_for(1).request);
  EXPECT_NE(first.find("The tool add."), std::string::npos);
  EXPECT_NE(second.find(R"(sum of {"a":1})"), std::string::npos) << second;
  EXPECT_EQ(reply.body.at("usage").at("prompt_tokens").as_int64(),
            static_cast<std::int64_t>(worker_->wait_for(0).request.prompt.size() +
                                      worker_->wait_for(1).request.prompt.size()));
  // Both rounds are one usage record.
  ASSERT_TRUE(eventually([&] { return used().num_requests == 1; }));
  EXPECT_EQ(used().prompt_tokens, reply.body.at("usage").at("prompt_tokens").as_int64());
  EXPECT_EQ(used().completion_tokens, reply.body.at("usage").at("completion_tokens").as_int64());
}

TEST_F(ServerToolsTest, AStreamTellsOfEachCallAndItsResult) {
  serve_calls("Wait.\n" + call_of("add"));
  const Reply reply = ask(R"(["add"])", R"(, "stream": true)");
  std::string story;
  for (const json::value& event : events_of(reply.text)) {
    if (const json::value* call = event.as_object().if_contains("server_tool_call")) {
      EXPECT_TRUE(event.at("choices").as_array().empty());
      story += "[" + std::string(call->at("status").as_string()) + " " +
               std::string(call->at("name").as_string()) + "]";
      continue;
    }
    const json::value& choice = event.at("choices").at(0);
    EXPECT_FALSE(choice.at("delta").as_object().contains("tool_calls"));
    if (const json::value* text = choice.at("delta").as_object().if_contains("content"))
      story += text->as_string();
    if (!choice.at("finish_reason").is_null())
      story += "/" + std::string(choice.at("finish_reason").as_string());
  }
  EXPECT_EQ(story, "Wait.[in_progress add][completed add]Done./stop");
}

TEST_F(ServerToolsTest, ResultsAreToldThoughTheNextRoundCannotBegin) {
  serve([this](const wire::GenerateRequest& request) {
    router_.set_failed("m", "its file is gone");
    return says(call_of("add"), 7)(request);
  });
  const Reply reply = ask(R"(["add"])", R"(, "stream": true)");
  const std::size_t completed = reply.text.find(R"("status":"completed")");
  ASSERT_NE(completed, std::string::npos) << reply.text;
  EXPECT_NE(reply.text.find("model_failed", completed), std::string::npos) << reply.text;
}

TEST_F(ServerToolsTest, CallsOfOneRoundRunSideBySide) {
  serve_calls(call_of("meet", R"({"a": 1})") + "\n" + call_of("meet", R"({"a": 2})"));
  const Reply reply = ask(R"(["meet"])");
  ASSERT_EQ(calls(reply).size(), 2u);
  EXPECT_EQ(calls(reply)[0].at("output"), R"(sum of {"a":1})");
  EXPECT_EQ(calls(reply)[1].at("output"), R"(sum of {"a":2})");
  EXPECT_EQ(message(reply).at("content"), "Done.");
}

TEST_F(ServerToolsTest, WhatFailsHangsOrIsTooLongBecomesAResult) {
  serve_calls(call_of("broken") + "\n" + call_of("hangs") + "\n" + call_of("long"), 128 << 10);
  const Reply reply = ask(R"(["broken", "hangs", "long"])");
  ASSERT_EQ(calls(reply).size(), 3u) << reply.text;
  EXPECT_EQ(calls(reply)[0].at("status"), "failed");
  EXPECT_NE(calls(reply)[0].at("output").as_string().find("status 503"), std::string::npos);
  EXPECT_EQ(calls(reply)[1].at("status"), "failed");
  EXPECT_NE(calls(reply)[1].at("output").as_string().find("no result within 0.05 s"), std::string::npos);
  EXPECT_EQ(calls(reply)[2].at("status"), "completed");
  EXPECT_NE(calls(reply)[2].at("output").as_string().find("longer than 65536 bytes"), std::string::npos);
  EXPECT_EQ(message(reply).at("content"), "Done.");
}

TEST_F(ServerToolsTest, AResultThatTheContextCannotHoldIsSaidToBeTooLong) {
  serve_calls(call_of("long"));
  const Reply reply = ask(R"(["long"])");
  EXPECT_EQ(message(reply).at("content"), "Done.");
  EXPECT_NE(prompt_text(worker_->wait_for(1).request).find("too long for the model's context"),
            std::string::npos);
}

TEST_F(ServerToolsTest, TheLastRoundMayNotCall) {
  serve(says(call_of("add")));
  const Reply reply = ask(R"(["add"])");
  EXPECT_EQ(calls(reply).size(), 3u);  // the fixture allows three rounds of calls
  EXPECT_EQ(calls(reply)[2].at("round"), 3);
  EXPECT_EQ(message(reply).at("content").as_string(), call_of("add"));
  EXPECT_EQ(worker_->wait_for(3).request.grammar, nullptr);
}

TEST_F(ServerToolsTest, ArgumentsThatAreNoObjectAreAResultToo) {
  serve_calls(call_of("add", R"("a")"));
  const Reply reply = ask(R"(["add"])", R"(, "tool_choice": "required")");
  ASSERT_EQ(reply.status, 200) << reply.text;
  ASSERT_EQ(calls(reply).size(), 1u);
  EXPECT_EQ(calls(reply)[0].at("output"), "The arguments are not a JSON object.");
}

TEST_F(ServerToolsTest, AFunctionOfTheClientEndsTheAnswer) {
  serve_calls(call_of("add") + "\n" + call_of("mine"));
  const std::string functions =
      R"(, "tools": [{"type": "function", "function": {"name": "mine", "parameters": {"type": "object"}}}])";
  const Reply reply = ask(R"(["add"])", functions);
  EXPECT_EQ(reply.body.at("choices").at(0).at("finish_reason"), "tool_calls");
  ASSERT_EQ(message(reply).at("tool_calls").as_array().size(), 1u);
  EXPECT_EQ(message(reply).at("tool_calls").at(0).at("function").at("name"), "mine");
  ASSERT_EQ(calls(reply).size(), 1u);
  EXPECT_EQ(calls(reply)[0].at("output"), R"(sum of {"a":1})");
}

TEST_F(ServerToolsTest, WhatIsRequiredIsRequiredOnce) {
  serve_calls(call_of("add"));
  const Reply reply =
      ask(R"(["add"])", R"(, "tool_choice": {"type": "function", "function": {"name": "add"}})");
  EXPECT_EQ(message(reply).at("content"), "Done.");
}

TEST_F(ServerToolsTest, WhatIsWrongIsNamed) {
  serve(says("x"));
  struct Case {
    std::string tools;
    std::string more;
    const char* field;
  };
  const Case cases[] = {
      {R"("add")", "", "server_tools"},
      {R"([1])", "", "server_tools[0]"},
      {R"(["add", "nobody"])", "", "server_tools[1]"},
      {R"(["http://127.0.0.1/"])", "", "server_tools[0]"},
      {R"(["add"])", R"(, "n": 2)", "n"},
      {R"(["add"])", R"(, "tool_choice": {"type": "function", "function": {"name": "x"}})", "tool_choice"},
      {R"(["add"])", R"(, "tools": [{"type": "function", "function": {"name": "add"}}])", "server_tools[0]"},
  };
  for (const Case& c : cases) {
    const Reply reply = ask(c.tools, c.more);
    EXPECT_EQ(reply.status, 400) << reply.text;
    EXPECT_EQ(reply.body.at("error").at("param").as_string(), c.field) << reply.text;
  }
}

TEST_F(ServerToolsTest, AConversationKeepsCallsAndResults) {
  serve_calls("Wait.\n" + call_of("add") + "\n" + call_of("broken"));
  const Reply made =
      post("/v1/conversations", R"({"model": "m", "settings": {"server_tools": ["add", "broken"]}})");
  ASSERT_EQ(made.status, 200) << made.text;
  const std::string path = "/v1/conversations/" + std::string(made.body.at("id").as_string()) + "/messages";
  const Reply said = post(path, R"({"content": "hi"})");
  ASSERT_EQ(said.status, 200) << said.text;
  EXPECT_EQ(said.body.at("message").at("content"), "Done.");
  EXPECT_EQ(said.body.at("server_tool_message_ids").as_array().size(), 3u);
  const json::value page = get(path + "?order=asc").body;
  const json::array& messages = page.at("data").as_array();
  ASSERT_EQ(messages.size(), 5u) << json::serialize(page);
  EXPECT_EQ(messages[1].at("role"), "assistant");
  EXPECT_EQ(messages[1].at("content"), "Wait.");
  EXPECT_EQ(messages[1].at("finish_reason"), "tool_calls");
  EXPECT_EQ(messages[1].at("tool_calls").at(0).at("function").at("name"), "add");
  EXPECT_EQ(messages[2].at("role"), "tool");
  EXPECT_EQ(messages[2].at("content"), R"(sum of {"a":1})");
  EXPECT_EQ(messages[2].at("tool_call_id"), messages[1].at("tool_calls").at(0).at("id"));
  EXPECT_EQ(messages[3].at("is_error"), true);
  EXPECT_EQ(messages[4].at("status"), "completed");
  EXPECT_EQ(messages[4].at("usage").at("prompt_tokens").as_int64(),
            static_cast<std::int64_t>(worker_->wait_for(1).request.prompt.size()));
  // The next turn's prompt has both results.
  ASSERT_EQ(post(path, R"({"content": "and now?"})").status, 200);
  EXPECT_EQ(count_of(prompt_text(worker_->wait_for(2).request), "<tool_response>"), 2);
}

TEST_F(ServerToolsTest, AClientThatLeavesEndsTheCallAndTheHistoryIsWhole) {
  serve_calls(call_of("meet"));
  const Reply made = post("/v1/conversations", R"({"model": "m"})");
  const std::string path = "/v1/conversations/" + std::string(made.body.at("id").as_string()) + "/messages";
  {
    net::LoopbackClient client(port_);
    client.send(net::post_request(path, R"({"content": "hi", "stream": true, "server_tools": ["meet"]})",
                                  "Content-Type: application/json\r\n"));
    EXPECT_NE(client.read_until("in_progress").find("server_tool_call"), std::string::npos);
  }
  json::value page;
  ASSERT_TRUE(eventually([&] {
    page = get(path + "?order=asc").body;
    return page.at("data").as_array().size() == 3;
  }));
  EXPECT_EQ(page.at("data").at(1).at("status"), "incomplete");
  EXPECT_EQ(page.at("data").at(1).at("finish_reason"), "cancelled");
  EXPECT_EQ(page.at("data").at(2).at("role"), "tool");
  EXPECT_EQ(page.at("data").at(2).at("content"), "The call was given up.");
}

}  // namespace
}  // namespace kvasir::api

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/answer/server_tools/server_tools_fixture.h"
#include "api/answer/write/stream_events.h"

namespace kvasir::api {
namespace {

class ServerToolsShapesTest : public ServerToolsTest {
 protected:
  static std::string response_body(const std::string& more) {
    return R"({"model": "m", "input": "hi", "server_tools": ["add", "broken", "meet"])" + more + "}";
  }
  static std::string messages_body(const std::string& messages, const std::string& more = "") {
    return R"({"model": "m", "max_tokens": 500, "server_tools": ["add", "broken"], "messages": )" + messages +
           more + "}";
  }
  // The output as lines of JSON, without its ids, which are random.
  static std::string story(json::array output) {
    std::string text;
    for (json::value& item : output) {
      json::object& object = item.as_object();
      object.erase("id");
      object.erase("tool_use_id");
      text += base::json_text(object) + "\n";
    }
    return text;
  }
  static std::vector<std::string> names_of(const std::vector<StreamEvent>& events) {
    std::vector<std::string> names;
    for (const StreamEvent& event : events)
      if (event.name.find("output_text") == std::string::npos &&
          event.name.find("content_part") == std::string::npos)
        names.push_back(event.name);
    return names;
  }
};

TEST_F(ServerToolsShapesTest, AResponseHasCallsAndResultsAmongItsItems) {
  serve_calls("Wait.\n" + call_of("add") + "\n" + call_of("broken"));
  const Reply reply = post("/v1/responses", response_body(""));
  ASSERT_EQ(reply.status, 200) << reply.text;
  const json::array& output = reply.body.at("output").as_array();
  ASSERT_EQ(output.size(), 4u) << reply.text;
  EXPECT_EQ(output[0].at_pointer("/content/0/text"), "Wait.");
  EXPECT_EQ(output[1].at("type"), "mcp_call");
  EXPECT_EQ(output[1].at("status"), "completed");
  EXPECT_EQ(output[1].at("server_label"), "add");
  EXPECT_EQ(output[1].at("name"), "add");
  EXPECT_EQ(output[1].at("arguments"), R"({"a": 1})");
  EXPECT_EQ(output[1].at("output"), R"(sum of {"a":1})");
  EXPECT_TRUE(output[1].at("error").is_null());
  EXPECT_EQ(output[2].at("status"), "failed");
  EXPECT_TRUE(output[2].at("output").is_null());
  EXPECT_EQ(output[2].at_pointer("/error/type"), "mcp_tool_execution_error");
  EXPECT_NE(output[2].at_pointer("/error/content/0/text").as_string().find("503"), std::string::npos);
  EXPECT_EQ(output[3].at_pointer("/content/0/text"), "Done.");
  EXPECT_EQ(reply.body.at_pointer("/server_tools/0"), "add");
}

TEST_F(ServerToolsShapesTest, AStreamedResponseIsTheSameWithEventsOfTheCall) {
  serve_calls("Wait.\n" + call_of("add"));
  const Reply whole = post("/v1/responses", response_body(""));
  const Reply reply = post("/v1/responses", response_body(R"(, "stream": true)"));
  const std::vector<StreamEvent> events = stream_events(reply.text);
  EXPECT_EQ(story(events.back().data.at_pointer("/response/output").as_array()),
            story(whole.body.at("output").as_array()));
  const std::vector<std::string> expected = {"response.created",
                                             "response.in_progress",
                                             "response.output_item.added",
                                             "response.output_item.done",
                                             "response.output_item.added",
                                             "response.mcp_call.in_progress",
                                             "response.mcp_call_arguments.delta",
                                             "response.mcp_call_arguments.done",
                                             "response.mcp_call.completed",
                                             "response.output_item.done",
                                             "response.output_item.added",
                                             "response.output_item.done",
                                             "response.completed"};
  EXPECT_EQ(names_of(events), expected);
  for (std::size_t i = 0; i < events.size(); ++i)
    EXPECT_EQ(events[i].data.at("sequence_number").as_int64(), static_cast<std::int64_t>(i));
}

TEST_F(ServerToolsShapesTest, CallsThatRunSideBySideKeepTheirPlaces) {
  serve_calls(call_of("meet", R"({"a": 1})") + "\n" + call_of("meet", R"({"a": 2})"));
  const Reply reply = post("/v1/responses", response_body(R"(, "stream": true)"));
  std::map<std::int64_t, std::string> ids;
  for (const StreamEvent& event : stream_events(reply.text)) {
    const json::object& data = event.data.as_object();
    if (event.name == "response.output_item.added")
      ids[data.at("output_index").as_int64()] = data.at("item").at("id").as_string();
    if (event.name == "response.output_item.done") {
      EXPECT_EQ(ids[data.at("output_index").as_int64()], data.at("item").at("id").as_string());
    }
  }
  const json::value last = stream_events(reply.text).back().data.at("response");
  EXPECT_EQ(last.at_pointer("/output/0/output"), R"(sum of {"a":1})");
  EXPECT_EQ(last.at_pointer("/output/1/output"), R"(sum of {"a":2})");
}

TEST_F(ServerToolsShapesTest, AResponseGoesOnFromStoredCalls) {
  serve_calls("Wait.\n" + call_of("add") + "\n" + call_of("broken"));
  const Reply first = post("/v1/responses", response_body(""));
  const std::string id(first.body.at("id").as_string());
  EXPECT_EQ(get("/v1/responses/" + id).body, first.body);
  ASSERT_EQ(post("/v1/responses", R"({"model": "m", "input": "and now?", "previous_response_id": ")" + id +
                                      R"(", "server_tools": ["add", "broken", "meet"]})")
                .status,
            200);
  // The model's earlier prompt is a prefix of the new one.
  const std::string before = prompt_text(worker_->wait_for(1).request);
  const std::string now = prompt_text(worker_->wait_for(2).request);
  EXPECT_TRUE(now.starts_with(before)) << before << "\n-----\n" << now;
  EXPECT_EQ(count_of(now, "<tool_response>"), 2);
}

TEST_F(ServerToolsShapesTest, ALaterRoundKnowsWhatTheResponseWentOnFrom) {
  serve([](const wire::GenerateRequest& request) {
    const std::string prompt = prompt_text(request);
    const auto has = [&](const char* word) { return prompt.find(word) != std::string::npos; };
    return says(has("<tool_response>") ? "Done." : has("sum?") ? call_of("add") : "Hello.", 7)(request);
  });
  const Reply first = post("/v1/responses", R"({"model": "m", "input": "I am Ada."})");
  const std::string id(first.body.at("id").as_string());
  const Reply second = post("/v1/responses", R"({"model": "m", "input": "sum?", "server_tools": ["add"], )"
                                             R"("previous_response_id": ")" +
                                                 id + "\"}");
  ASSERT_EQ(second.status, 200) << second.text;
  const std::string last = prompt_text(worker_->wait_for(2).request);
  EXPECT_NE(last.find("I am Ada."), std::string::npos) << last;
  EXPECT_NE(last.find(R"(sum of {"a":1})"), std::string::npos);
}

TEST_F(ServerToolsShapesTest, WhatAResponseCannotHaveWithToolsIsA400) {
  serve(says("x"));
  for (const auto& [more, field] : {std::pair(R"(, "max_tool_calls": 3)", "max_tool_calls"),
                                    std::pair(R"(, "top_logprobs": 2)", "include")}) {
    const Reply reply = post("/v1/responses", response_body(more));
    EXPECT_EQ(reply.status, 400) << reply.text;
    EXPECT_EQ(reply.body.at_pointer("/error/param").as_string(), field);
  }
  EXPECT_EQ(post("/v1/responses", R"({"model": "m", "input": "hi", "server_tools": ["nobody"]})").status,
            400);
}

TEST_F(ServerToolsShapesTest, AMessageHasBlocksOfCallsAndResults) {
  serve_calls("Wait.\n" + call_of("add") + "\n" + call_of("broken"));
  const std::string ask = R"([{"role": "user", "content": "hi"}])";
  const Reply reply = post("/v1/messages", messages_body(ask));
  ASSERT_EQ(reply.status, 200) << reply.text;
  const json::array& content = reply.body.at("content").as_array();
  std::string types;
  for (const json::value& block : content) types += std::string(block.at("type").as_string()) + " ";
  EXPECT_EQ(types, "text mcp_tool_use mcp_tool_use mcp_tool_result mcp_tool_result text ");
  EXPECT_EQ(content[1].at_pointer("/input/a"), 1);
  EXPECT_EQ(content[1].at("server_name"), "add");
  EXPECT_EQ(content[3].at("tool_use_id"), content[1].at("id"));
  EXPECT_EQ(content[3].at_pointer("/content/0/text"), R"(sum of {"a":1})");
  EXPECT_EQ(content[3].at("is_error"), false);
  EXPECT_EQ(content[4].at("is_error"), true);
  EXPECT_EQ(reply.body.at("stop_reason"), "end_turn");

  // The client sends the same blocks back.
  const std::string history = R"([{"role": "user", "content": "hi"}, {"role": "assistant", "content": )" +
                              base::json_text(json::value(content)) +
                              R"(}, {"role": "user", "content": "and now?"}])";
  ASSERT_EQ(post("/v1/messages", messages_body(history)).status, 200);
  const std::string before = prompt_text(worker_->wait_for(1).request);
  const std::string now = prompt_text(worker_->wait_for(2).request);
  EXPECT_TRUE(now.starts_with(before)) << before << "\n-----\n" << now;
}

TEST_F(ServerToolsShapesTest, AStreamedMessageIsTheSame) {
  serve_calls("Wait.\n" + call_of("add"));
  const std::string ask = R"([{"role": "user", "content": "hi"}])";
  const Reply whole = post("/v1/messages", messages_body(ask));
  const Reply reply = post("/v1/messages", messages_body(ask, R"(, "stream": true)"));
  json::array blocks;
  std::string input;
  for (const StreamEvent& event : stream_events(reply.text)) {
    if (event.name == "content_block_start") {
      EXPECT_EQ(event.data.at("index").as_int64(), static_cast<std::int64_t>(blocks.size()));
      blocks.push_back(event.data.at("content_block"));
    }
    if (event.name != "content_block_delta") continue;
    const json::object& delta = event.data.at("delta").as_object();
    if (delta.at("type") == "text_delta") {
      std::string text(blocks.back().at("text").as_string());
      blocks.back().as_object()["text"] = text += delta.at("text").as_string();
    } else {
      input += delta.at("partial_json").as_string();
      if (const auto parsed = base::parse_json(input); parsed.ok())
        blocks.back().as_object()["input"] = *parsed;
    }
  }
  EXPECT_EQ(story(blocks), story(whole.body.at("content").as_array()));
}

TEST_F(ServerToolsShapesTest, ServerToolsCountAsTokens) {
  serve(says("x"));
  const auto count = [&](const std::string& more) {
    return post("/v1/messages/count_tokens",
                R"({"model": "m", "messages": [{"role": "user", "content": "hi"}])" + more + "}")
        .body.at("input_tokens")
        .as_int64();
  };
  EXPECT_GT(count(R"(, "server_tools": ["add"])"), count(""));
}

}  // namespace
}  // namespace kvasir::api

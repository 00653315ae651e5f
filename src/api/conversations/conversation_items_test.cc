#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/answer/write/stream_events.h"
#include "api/key_fixture.h"

namespace kvasir::api {
namespace {

class ConversationItemsTest : public KeyedApiTest {
 protected:
  static std::string id_of(const Reply& reply) { return std::string(reply.body.at("id").as_string()); }
  std::string make(const std::string& body = "{}") {
    const Reply made = post("/v1/conversations", body);
    EXPECT_EQ(made.status, 200) << made.text;
    return id_of(made);
  }
  Reply items(const std::string& id, const std::string& query = "?order=asc") {
    return get("/v1/conversations/" + id + "/items" + query);
  }
  Reply respond(const std::string& conversation, const std::string& more = "") {
    return post("/v1/responses",
                R"({"model": "m", "input": "next", "conversation": ")" + conversation + "\"" + more + "}");
  }
  static std::string text_of(const json::value& item) {
    return std::string(item.at_pointer("/content/0/text").as_string());
  }
  // The prompt of the request with this number, as text.
  std::string prompt(std::size_t number) {
    std::string text;
    for (const TokenId id : worker_->wait_for(number).request.prompt)
      if (id < 256) text += static_cast<char>(id);
    return text;
  }
};

constexpr const char* kTwo = R"({"items": [{"type": "message", "role": "user", "content": "first words"},
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"a\":1}"},
    {"type": "function_call_output", "call_id": "c1", "output": "done"}], "metadata": {"k": "v"}})";

TEST_F(ConversationItemsTest, AConversationBeginsWithItems) {
  serve(says("x"));
  const std::string id = make(kTwo);
  const Reply list = items(id);
  ASSERT_EQ(list.status, 200) << list.text;
  const json::array& data = list.body.at("data").as_array();
  ASSERT_EQ(data.size(), 3u);
  EXPECT_EQ(data[0].at("role"), "user");
  EXPECT_EQ(data[1].at("call_id"), "c1");
  EXPECT_EQ(data[2].at("output"), "done");
  EXPECT_EQ(list.body.at("first_id"), data[0].at("id"));
  const std::string second(data[1].at("id").as_string());
  EXPECT_EQ(get("/v1/conversations/" + id + "/items/" + second).body, data[1]);
  EXPECT_EQ(get("/v1/conversations/" + id + "/items/fc_none").status, 404);
  const Reply page = items(id, "?limit=1");
  EXPECT_EQ(page.body.at("data").at(0).at("id"), data[2].at("id"));
  EXPECT_EQ(page.body.at("has_more"), true);
  EXPECT_EQ(items(id, "?limit=1&after=" + std::string(data[2].at("id").as_string())).body.at("data").at(0),
            data[1]);
  EXPECT_EQ(items(id, "?after=nothing").status, 400);
  EXPECT_EQ(get("/v1/conversations/" + id).body.at("title"), "first words");
}

TEST_F(ConversationItemsTest, ItemsAreAddedAndRemoved) {
  serve(says("x"));
  const std::string id = make();
  const std::string path = "/v1/conversations/" + id + "/items";
  const Reply added = post(path, kTwo);
  ASSERT_EQ(added.status, 200) << added.text;
  EXPECT_EQ(added.body.at("data"), items(id).body.at("data"));
  const std::string second(added.body.at("data").at(1).at("id").as_string());
  const Reply removed = ask("DELETE", path + "/" + second, "");
  EXPECT_EQ(removed.status, 200) << removed.text;
  EXPECT_EQ(removed.body.at("object"), "conversation");
  EXPECT_EQ(items(id).body.at("data").as_array().size(), 2u);
  EXPECT_EQ(ask("DELETE", path + "/" + second, "").status, 404);
  EXPECT_EQ(post(path, R"({"items": []})").status, 400);
  const Reply wrong = post(path, R"({"items": [{"role": "user", "content": [{"type": "input_image"}]}]})");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(wrong.body.at_pointer("/error/param"), "items[0].content[0].type");
  std::string many = R"({"items": [)";
  for (int i = 0; i < 21; ++i) many += std::string(i > 0 ? "," : "") + R"({"role": "user", "content": "x"})";
  EXPECT_EQ(post(path, many + "]}").status, 400);
}

TEST_F(ConversationItemsTest, AResponseGoesOnFromAConversationAndIsAddedToIt) {
  serve(says("answer"));
  const std::string id =
      make(R"({"system_prompt": "Be brief.", "items": [{"role": "user", "content": "before"}]})");
  const Reply made = respond(id, R"(, "instructions": "In French.")");
  ASSERT_EQ(made.status, 200) << made.text;
  EXPECT_EQ(made.body.at_pointer("/conversation/id"), json::value(id));
  const std::string asked = prompt(0);
  EXPECT_NE(asked.find("Be brief.\n\nIn French."), std::string::npos) << asked;
  EXPECT_LT(asked.find("before"), asked.find("next"));
  json::array data = items(id).body.at("data").as_array();
  ASSERT_EQ(data.size(), 3u);
  EXPECT_EQ(text_of(data[1]), "next");
  EXPECT_EQ(data[2], made.body.at_pointer("/output/0"));
  const Reply streamed = respond(id, R"(, "stream": true)");
  EXPECT_EQ(stream_events(streamed.text).back().name, "response.completed");
  const std::string again = prompt(1);
  EXPECT_NE(again.find("answer"), std::string::npos) << again;
  EXPECT_EQ(items(id).body.at("data").as_array().size(), 5u);
  const Reply messages = get("/v1/conversations/" + id + "/messages");
  EXPECT_EQ(messages.body.at("data").at(2).at("content"), "answer");
  EXPECT_EQ(get("/v1/responses/" + id_of(made) + "/input_items").body.at("data").at(0).at("id"),
            data[1].at("id"));
  const Reply chained = post(
      "/v1/responses", R"({"model": "m", "input": "x", "previous_response_id": ")" + id_of(made) + "\"}");
  EXPECT_EQ(chained.status, 400) << chained.text;
}

TEST_F(ConversationItemsTest, ATurnOfMessagesIsToldAsItems) {
  serve(says("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>"));
  const std::string id = make();
  const Reply turn = post(
      "/v1/conversations/" + id + "/messages",
      R"({"model": "m", "content": "call", "tools": [{"type": "function", "function": {"name": "f"}}]})");
  ASSERT_EQ(turn.status, 200) << turn.text;
  const json::array data = items(id).body.at("data").as_array();
  ASSERT_EQ(data.size(), 2u);
  EXPECT_EQ(text_of(data[0]), "call");
  EXPECT_EQ(data[1].at("type"), "function_call");
  EXPECT_EQ(data[1].at("name"), "f");
  const Reply next = post(
      "/v1/responses", R"({"model": "m", "conversation": {"id": ")" + id +
                           R"("}, "store": false, "input": [{"type": "function_call_output", "call_id": ")" +
                           std::string(data[1].at("call_id").as_string()) + R"(", "output": "result"}]})");
  ASSERT_EQ(next.status, 200) << next.text;
  EXPECT_NE(prompt(1).find("result"), std::string::npos);
  EXPECT_EQ(get("/v1/responses/" + id_of(next)).status, 404);
  EXPECT_EQ(items(id).body.at("data").as_array().size(), 4u);
}

TEST_F(ConversationItemsTest, WhatCannotBeIsRefused) {
  serve();
  const std::string id = make();
  EXPECT_EQ(respond("conv_none").status, 404);
  const Reply both = respond(id, R"(, "previous_response_id": "resp_1")");
  EXPECT_EQ(both.status, 400);
  EXPECT_EQ(both.body.at_pointer("/error/param"), "conversation");
  EXPECT_EQ(post("/v1/responses", R"({"model": "m", "input": "x", "conversation": 3})").status, 400);
  net::LoopbackClient running(port_);
  running.send(net::post_request("/v1/responses",
                                 R"({"model": "m", "input": "x", "conversation": ")" + id + "\"}",
                                 "Content-Type: application/json\r\n"));
  const auto asked = worker_->wait_for(0);
  const Reply busy = respond(id);
  EXPECT_EQ(busy.status, 409) << busy.text;
  EXPECT_EQ(busy.body.at_pointer("/error/code"), "conversation_busy");
  EXPECT_EQ(post("/v1/conversations/" + id + "/items", kTwo).status, 409);
  seam::TokenStream::send(
      {{asked.stream, {.tokens = router::byte_tokens("end"), .finish = wire::FinishReason::stop}}});
  ASSERT_TRUE(running.read_response());
  EXPECT_EQ(items(id).body.at("data").as_array().size(), 2u);
}

TEST_F(ConversationItemsTest, ARefusedOrLeftTurnLeavesWhatIsSaid) {
  serve();
  const std::string id = make();
  worker_->refuse_with(base::error(base::ErrorCode::exhausted, "no room"));
  EXPECT_NE(respond(id).status, 200);
  EXPECT_TRUE(items(id).body.at("data").as_array().empty());
}

TEST_F(ConversationItemsTest, ABackgroundResponseJoinsItsConversation) {
  serve();
  const std::string id = make();
  const Reply made = respond(id, R"(, "background": true)");
  ASSERT_EQ(made.status, 200) << made.text;
  const auto asked = worker_->wait_for(0);
  EXPECT_EQ(respond(id).status, 409);
  seam::TokenStream::send(
      {{asked.stream, {.tokens = router::byte_tokens("end"), .finish = wire::FinishReason::stop}}});
  EXPECT_TRUE(
      eventually([&] { return get("/v1/responses/" + id_of(made)).body.at("status") == "completed"; }));
  const json::array data = items(id).body.at("data").as_array();
  ASSERT_EQ(data.size(), 2u);
  EXPECT_EQ(text_of(data[1]), "end");
}

TEST_F(ConversationItemsTest, ItBelongsToItsTenant) {
  serve();
  add_tenant("acme");
  add_tenant("other");
  const auto key = issue("acme");
  const auto others = issue("other");
  const Reply made = post_with("/v1/conversations", kTwo, bearer(key));
  const std::string path = "/v1/conversations/" + id_of(made) + "/items";
  EXPECT_EQ(get_with(path, bearer(key)).status, 200);
  EXPECT_EQ(get_with(path, bearer(others)).status, 404);
  EXPECT_EQ(post_with(path, kTwo, bearer(others)).status, 404);
  EXPECT_EQ(
      post_with("/v1/responses", R"({"model": "m", "input": "x", "conversation": ")" + id_of(made) + "\"}",
                bearer(others))
          .status,
      404);
}

}  // namespace
}  // namespace kvasir::api

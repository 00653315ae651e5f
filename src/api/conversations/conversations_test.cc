#include <gtest/gtest.h>

#include <memory>
#include <semaphore>
#include <stop_token>
#include <thread>

#include "api/api_fixture.h"
#include "api/items/stored_items.h"

namespace kvasir::api {
namespace {

using seam::TokenStream;
using wire::FinishReason;

std::string text_at(const json::value& value, const char* key) {
  const json::value& at = value.at(key);
  return at.is_string() ? std::string(at.get_string()) : json::serialize(at);
}

class ConversationTest : public ApiTest {
 protected:
  Reply send(const std::string& method, const std::string& path, const std::string& body = "") {
    return exchange(
        fmt::format("{} {} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                    "Content-Length: {}\r\n\r\n{}",
                    method, path, body.size(), body));
  }
  std::string create(const std::string& body = R"({"model": "m"})") {
    const Reply made = post("/v1/conversations", body);
    EXPECT_EQ(made.status, 200) << made.text;
    return text_at(made.body, "id");
  }
  Reply say(const std::string& id, const std::string& text, const std::string& more = "") {
    return post(path(id), R"({"content": ")" + text + "\"" + more + "}");
  }
  static std::string path(const std::string& id) { return "/v1/conversations/" + id + "/messages"; }
  // Returns the messages as text: "user:hi assistant:Hello".
  std::string read(const std::string& id, const std::string& query = "") {
    std::string all;
    const Reply list = get(path(id) + query);
    EXPECT_EQ(list.status, 200) << list.text;
    for (const json::value& message : list.body.at("data").as_array())
      all += (all.empty() ? "" : " ") + text_at(message, "role") + ":" + text_at(message, "content");
    return all;
  }
  std::string prompt_of(std::size_t number) {
    std::string text;
    for (const TokenId id : worker_->wait_for(number).request.prompt)
      text += id < 256 ? std::string(1, static_cast<char>(id)) : "|";
    return text;
  }
};

// A page of large messages ends after a number of bytes, and the next page begins there.
TEST_F(ConversationTest, PagesAreCutByBytesToo) {
  serve(says("Hello"));
  const std::string id = create();
  const std::string large(700'000, 'x');
  constexpr int kNumMessages = 8;  // 5.6 MB in all; a page has at most 4 MiB
  for (int i = 0; i < kNumMessages; ++i)
    ASSERT_EQ(say(id, std::to_string(i) + large, R"(, "generate": false)").status, 200);
  for (const std::string order : {"asc", "desc"}) {
    std::string found;
    std::string after;
    int num_pages = 0;
    for (bool more = true; more; ++num_pages) {
      const Reply page = get(path(id) + "?limit=100&order=" + order + after);
      ASSERT_EQ(page.status, 200);
      for (const json::value& message : page.body.at("data").as_array())
        found += text_at(message, "content").front();
      more = page.body.at("has_more").as_bool();
      after = "&after=" + text_at(page.body, "last_id");
    }
    EXPECT_EQ(found, order == "asc" ? "01234567" : "76543210");
    EXPECT_EQ(num_pages, 2);
  }
  const std::string last = text_at(get(path(id) + "?limit=1&order=desc").body, "last_id");
  const Reply before = get(path(id) + "?limit=100&before=" + last);
  EXPECT_EQ(text_at(before.body.at("data").as_array().back(), "content").front(), '6');
  EXPECT_EQ(before.body.at("data").as_array().size(), 6u);
  EXPECT_EQ(before.body.at("has_more"), true);
}

// The history that a turn loads counts as memory of bodies until its text has been tokenized.
TEST_F(ConversationTest, HistoriesThatWaitAreCounted) {
  server_options_.max_bodies_bytes = std::size_t{4} << 20;  // large bodies may take 3 MiB of it
  serve(says("Hello"));
  const std::string first = create();
  const std::string second = create();
  for (const std::string& id : {first, second})
    for (int i = 0; i < 2; ++i)
      ASSERT_EQ(say(id, std::string(1'000'000, 'x'), R"(, "generate": false)").status, 200);
  const auto blocker = std::make_shared<TextQueue::Entry>();
  std::binary_semaphore begun{0};
  blocker->run = [&begun](const std::stop_token& stop) {
    begun.release();
    while (!stop.stop_requested()) std::this_thread::yield();
  };
  ASSERT_TRUE(api_.tokenizing().add(blocker).ok());
  begun.acquire();
  net::LoopbackClient waiting(port_);
  waiting.send(net::post_request(path(first), R"({"content": "hi", "stream": true})"));
  waiting.read_until(": ping\n\n");
  const Reply refused = say(second, "hi");
  EXPECT_EQ(refused.status, 503) << refused.text;
  EXPECT_EQ(refused.body.at("error").at("code"), "server_overloaded");
  api_.tokenizing().give_up(blocker);
  EXPECT_NE(waiting.read_until("[DONE]").find("Hello"), std::string::npos);
  EXPECT_EQ(say(second, "hi").status, 200);
}

// A history that is too large for any context is not loaded, but its messages are counted.
TEST_F(ConversationTest, AHugeHistoryIsLeftOutAndCounted) {
  serve(says("Hello"));
  const std::string id = create();
  const store::Key key{tenancy::anonymous().tenant, id};
  constexpr int kNumMessages = 13;
  std::string parent;
  for (int i = 0; i < kNumMessages; ++i) {
    store::Message message;
    message.id = "msg_" + std::to_string(i);
    message.parent_id = std::exchange(parent, message.id);
    message.role = "user";
    message.body = R"({"content": ")" + std::string(4'000'000, 'x') + "\"}";
    ASSERT_TRUE(store_->conversations().append(key, {.messages = {message}}).ok());
  }
  const Reply answer = say(id, "hi");
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.body.at("context").at("dropped_messages"), kNumMessages);
  const Reply last = get(path(id) + "?limit=2&order=desc");
  EXPECT_EQ(text_at(last.body.at("data").at(0), "content"), "Hello");
  EXPECT_EQ(text_at(last.body.at("data").at(1), "parent_id"), parent);
  EXPECT_EQ(last.body.at("data").at(0).at("context").at("first_message_id"),
            last.body.at("data").at(1).at("id"));
}

TEST_F(ConversationTest, IsMadeReadChangedListedAndDeleted) {
  serve(says("Hello"));
  const std::string id = create(R"({"model": "m", "system_prompt": "Be brief.", "metadata": {"a": "b"},
                                    "settings": {"temperature": 0}, "context_policy": "error"})");
  EXPECT_TRUE(id.starts_with("conv_"));
  const json::value read = get("/v1/conversations/" + id).body;
  EXPECT_EQ(read.at("system_prompt"), "Be brief.");
  EXPECT_EQ(read.at("context_policy"), "error");
  EXPECT_EQ(json::serialize(read.at("settings")), R"({"temperature":0})");
  EXPECT_EQ(read.at("title"), json::value());
  const Reply changed =
      send("PATCH", "/v1/conversations/" + id, R"({"title": "T", "settings": {"seed": 1}})");
  EXPECT_EQ(changed.body.at("title"), "T");
  EXPECT_EQ(changed.body.at("context_policy"), "error");
  EXPECT_EQ(json::serialize(changed.body.at("settings")), R"({"seed":1})");
  const std::string other = create("");
  const json::value list = get("/v1/conversations?limit=1").body;
  EXPECT_EQ(list.at("data").at(0).at("id").get_string(), other);
  EXPECT_EQ(list.at("has_more"), true);
  EXPECT_EQ(get("/v1/conversations?after=" + other).body.at("data").at(0).at("id").get_string(), id);
  EXPECT_EQ(send("DELETE", "/v1/conversations/" + id).body.at("deleted"), true);
  EXPECT_EQ(get("/v1/conversations/" + id).status, 404);
  EXPECT_EQ(send("DELETE", "/v1/conversations/" + id).status, 404);
}

TEST_F(ConversationTest, WrongRequestsAreRefusedAndStoreNothing) {
  serve(says("Hello"));
  EXPECT_EQ(post("/v1/conversations", R"({"settings": {"temperature": 9}})").status, 400);
  EXPECT_EQ(post("/v1/conversations", R"({"settings": {"messages": []}})").status, 400);
  EXPECT_EQ(post("/v1/conversations", R"({"context_policy": "hope"})").status, 400);
  EXPECT_EQ(post("/v1/conversations", R"({"items": [{"role": "wizard", "content": "hi"}]})").status, 400);
  EXPECT_EQ(post("/v1/conversations", R"({"title": ")" + std::string(257, 't') + R"("})").status, 400);
  EXPECT_EQ(post("/v1/conversations", R"({"metadata": {"a": 1}})").status, 400);
  EXPECT_EQ(post("/v1/conversations", R"({"metadata": {")" + std::string(65, 'k') + R"(": ""}})").status,
            400);
  EXPECT_EQ(post("/v1/conversations", R"({"metadata": {"k": ")" + std::string(513, 'v') + R"("}})").status,
            400);
  EXPECT_EQ(get("/v1/conversations?limit=0").status, 400);
  EXPECT_EQ(get("/v1/conversations?after=nobody").status, 400);
  EXPECT_TRUE(get("/v1/conversations").body.at("data").as_array().empty());
  const std::string id = create();
  EXPECT_EQ(post(path(id), "{}").status, 400);
  EXPECT_EQ(post(path(id), R"({"content": 5})").status, 400);
  EXPECT_EQ(say(id, "hi", R"(, "n": 2)").status, 400);
  EXPECT_EQ(say(id, "hi", R"(, "model": "nope")").status, 404);
  EXPECT_EQ(say(id, "hi", R"(, "parent_id": "msg_nope")").status, 404);
  EXPECT_EQ(say("conv_nope", "hi").status, 404);
  EXPECT_EQ(get(path(id) + "?branch=msg_nope").status, 400);
  EXPECT_EQ(read(id), "");
}

TEST_F(ConversationTest, AMessageAndItsAnswerAreStored) {
  serve(says("Hello"));
  const std::string id = create(R"({"model": "m", "system_prompt": "Be brief."})");
  const Reply answer = say(id, "What is   up?\\nTell me.");
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(answer.body.at("choices").at(0).at("message").at("content"), "Hello");
  EXPECT_EQ(answer.body.at("conversation_id").get_string(), id);
  const json::value& message = answer.body.at("message");
  EXPECT_EQ(message.at("status"), "completed");
  EXPECT_EQ(message.at("finish_reason"), "stop");
  EXPECT_EQ(message.at("usage").at("completion_tokens"), 5);
  EXPECT_EQ(message.at("usage").at("prompt_tokens_details").at("cached_tokens"), 2);
  EXPECT_EQ(message.at("context").at("policy"), "sliding_window");
  EXPECT_TRUE(message.at("cost").is_null());
  EXPECT_GT(message.at("timings").at("total_ms").as_double(), 0);
  EXPECT_EQ(json::serialize(get(path(id) + "/" + text_at(message, "id")).body), json::serialize(message));
  EXPECT_EQ(get("/v1/conversations/" + id).body.at("title"), "What is up? Tell me.");
  say(id, "And now?");
  EXPECT_EQ(read(id), "user:What is   up?\nTell me. assistant:Hello user:And now? assistant:Hello");
  EXPECT_EQ(read(id, "?limit=1&order=desc"), "assistant:Hello");
  const std::string prompt = prompt_of(1);
  EXPECT_NE(prompt.find("system\nBe brief.|"), std::string::npos) << prompt;
  EXPECT_NE(prompt.find("assistant\nHello|"), std::string::npos) << prompt;
  EXPECT_NE(prompt.find("user\nAnd now?|"), std::string::npos) << prompt;
}

TEST_F(ConversationTest, AStreamEndsWithTheStoredMessage) {
  serve(says("Hello"));
  const std::string id = create();
  const auto events = events_of(say(id, "hi", R"(, "stream": true)").text);
  const json::value& last = events.back();
  EXPECT_TRUE(last.at("choices").as_array().empty());
  EXPECT_EQ(last.at("message").at("content"), "Hello");
  EXPECT_EQ(read(id), "user:hi assistant:Hello");
}

TEST_F(ConversationTest, MessagesMayBeStoredWithoutAnAnswer) {
  serve(says("Hello"));
  const std::string id = create();
  EXPECT_EQ(say(id, "hi", R"(, "generate": false)").body.at("data").at(0).at("role"), "user");
  const std::string two = R"({"generate": false, "messages": [
      {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function",
        "function": {"name": "f", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "c", "content": "42"}]})";
  EXPECT_EQ(post(path(id), two).status, 200);
  EXPECT_EQ(post(path(id), R"({"role": "user", "content": "so?"})").status, 200);
  const json::value list = get(path(id)).body.at("data");
  EXPECT_EQ(list.at(1).at("tool_calls").at(0).at("id"), "c");
  EXPECT_EQ(list.at(2).at("tool_call_id"), "c");
  EXPECT_EQ(list.as_array().size(), 5u);
  EXPECT_NE(prompt_of(0).find("42"), std::string::npos);
}

TEST_F(ConversationTest, WhatAClientLeftIsStored) {
  serve();
  const std::string id = create();
  {
    net::LoopbackClient client(port_);
    client.send(net::post_request(path(id), R"({"content": "hi", "stream": true})"));
    const auto asked = worker_->wait_for(0);
    wire::TokenEvent event{.tokens = router::byte_tokens("so far")};
    event.usage.output_tokens = 6;
    TokenStream::send({{asked.stream, std::move(event)}});
    ASSERT_NE(client.read_until("far").find("so far"), std::string::npos);
  }
  ASSERT_TRUE(eventually([&] { return get(path(id)).body.at("data").at(1).at("status") == "incomplete"; }));
  const json::value left = get(path(id)).body.at("data").at(1);
  EXPECT_EQ(left.at("content"), "so far");
  EXPECT_EQ(left.at("finish_reason"), "cancelled");
  EXPECT_EQ(left.at("usage").at("completion_tokens"), 6);
}

// The disk is full when the answer ends, and has room again later.
TEST_F(ConversationTest, AnEndThatCouldNotBeSavedIsSavedLater) {
  serve();
  const std::string id = create();
  net::LoopbackClient client(port_);
  client.send(net::post_request(path(id), R"({"content": "hi"})"));
  const auto asked = worker_->wait_for(0);
  store_->full = true;
  wire::TokenEvent event{.tokens = router::byte_tokens("whole"), .finish = wire::FinishReason::stop};
  event.usage.output_tokens = 5;
  TokenStream::send({{asked.stream, std::move(event)}});
  const auto failed = client.read_response();
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->status, 500);
  EXPECT_EQ(base::parse_json(failed->body).value().at("error").at("code"), "storage_full");
  EXPECT_EQ(get(path(id)).body.at("data").at(1).at("status"), "in_progress");
  store_->full = false;
  ASSERT_TRUE(eventually([&] { return get(path(id)).body.at("data").at(1).at("status") == "completed"; }));
  EXPECT_EQ(get(path(id)).body.at("data").at(1).at("content"), "whole");
}

TEST_F(ConversationTest, AnEndThatCouldNotBeSavedIsTriedAgainAtTheStop) {
  serve();
  const std::string id = create();
  {
    net::LoopbackClient client(port_);
    client.send(net::post_request(path(id), R"({"content": "hi"})"));
    const auto asked = worker_->wait_for(0);
    store_->full = true;
    // The request is refused before its first token, so the turn leaves no trace.
    wire::TokenEvent event;
    event.error = base::Error{.code = base::ErrorCode::exhausted, .message = "no"};
    TokenStream::send({{asked.stream, std::move(event)}});
    EXPECT_NE(client.read_response()->status, 200);
  }
  EXPECT_EQ(get(path(id)).body.at("data").as_array().size(), 2u);
  store_->full = false;
  api_.stop_storing();
  EXPECT_TRUE(store_->conversations().tree({tenancy::anonymous().tenant, id}).value().empty());
}

TEST_F(ConversationTest, ASecondWriterIsRefusedOrBranches) {
  serve();
  const std::string id = create();
  net::LoopbackClient first(port_);
  first.send(net::post_request(path(id), R"({"content": "one"})"));
  const auto asked = worker_->wait_for(0);
  const Reply busy = say(id, "two");
  EXPECT_EQ(busy.status, 409) << busy.text;
  EXPECT_EQ(busy.body.at("error").at("code"), "conversation_busy");
  const std::string user = text_at(get(path(id)).body.at("data").at(0), "id");
  net::LoopbackClient second(port_);
  second.send(net::post_request(path(id), R"({"content": "three", "parent_id": ")" + user + "\"}"));
  const auto branch = worker_->wait_for(1);
  TokenStream::send({{asked.stream, {.tokens = router::byte_tokens("1"), .finish = FinishReason::stop}}});
  TokenStream::send({{branch.stream, {.tokens = router::byte_tokens("3"), .finish = FinishReason::stop}}});
  EXPECT_EQ(first.read_response()->status, 200);
  EXPECT_EQ(second.read_response()->status, 200);
  EXPECT_EQ(read(id), "user:one user:three assistant:3");
}

TEST_F(ConversationTest, EditingAndRegeneratingMakeBranches) {
  serve(says("Hello"));
  const std::string id = create();
  say(id, "one");
  say(id, "two");
  const json::value before = get(path(id)).body.at("data");
  const std::string one = text_at(before.at(0), "id");
  const std::string answer = text_at(before.at(1), "id");
  EXPECT_EQ(send("POST", path(id) + "/" + one, R"({"content": "uno"})").status, 200);
  EXPECT_EQ(read(id), "user:uno assistant:Hello");
  EXPECT_EQ(get(path(id)).body.at("data").at(0).at("sibling_ids").as_array().size(), 2u);
  EXPECT_EQ(read(id, "?branch=" + one), "user:one assistant:Hello user:two assistant:Hello");
  EXPECT_EQ(send("POST", path(id) + "/" + answer).status, 200);
  EXPECT_EQ(read(id), "user:one assistant:Hello");
  const json::value regenerated = get(path(id)).body.at("data").at(1);
  EXPECT_NE(text_at(regenerated, "id"), answer);
  EXPECT_EQ(regenerated.at("sibling_ids").at(0).get_string(), answer);
  const std::string leaf = text_at(before.at(3), "id");
  send("PATCH", "/v1/conversations/" + id, R"({"active_message_id": ")" + leaf + "\"}");
  EXPECT_EQ(read(id), "user:one assistant:Hello user:two assistant:Hello");
  EXPECT_EQ(send("PATCH", "/v1/conversations/" + id, R"({"active_message_id": "no"})").status, 404);
}

TEST_F(ConversationTest, WhatTheEngineRefusesLeavesNoTrace) {
  serve(says("Hello"));
  const std::string id = create();
  say(id, "one");
  worker_->refuse_with(
      {.code = base::ErrorCode::exhausted, .message = "full", .reason = "rate_limit_exceeded"});
  EXPECT_EQ(say(id, "two").status, 429);
  EXPECT_EQ(read(id), "user:one assistant:Hello");
}

TEST_F(ConversationTest, TitlesAreOneShortLine) {
  EXPECT_EQ(title_of("  a\n\n b "), "a b");
  EXPECT_EQ(title_of(""), "");
  const std::string cut = title_of("Lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod");
  EXPECT_EQ(cut, "Lorem ipsum dolor sit amet consectetur adipiscing elit sed…");
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "ä";
  EXPECT_EQ(title_of(umlauts), umlauts.substr(0, 60) + "…");
}

// Makes turns of 100 bytes each, which are 100 tokens here, besides the template's text.
std::string long_chat(int num_turns, const std::string& more) {
  std::string messages = R"({"role": "system", "content": "S"})";
  for (int i = 0; i < num_turns; ++i) {
    messages += R"(, {"role": "user", "content": ")" + std::string(100, static_cast<char>('a' + i)) + "\"}";
    if (i + 1 < num_turns) messages += R"(, {"role": "assistant", "content": "ok"})";
  }
  return R"({"model": "m", "max_tokens": 50, "messages": [)" + messages + "]" + more + "}";
}

TEST_F(ConversationTest, ASlidingWindowKeepsTheSystemPromptAndWholeTurns) {
  serve(says("Hello"), 600);
  EXPECT_EQ(post("/v1/chat/completions", long_chat(8, "")).body.at("error").at("code"),
            "context_length_exceeded");
  const Reply fitted = post("/v1/chat/completions", long_chat(8, R"(, "context_policy": "sliding_window")"));
  ASSERT_EQ(fitted.status, 200) << fitted.text;
  const json::value& context = fitted.body.at("context");
  EXPECT_GT(context.at("dropped_turns").as_int64(), 2);
  EXPECT_EQ(context.at("dropped_messages").as_int64(), 2 * context.at("dropped_turns").as_int64());
  EXPECT_NE(fitted.headers.at("x-kvasir-context").find("policy=sliding_window"), std::string::npos);
  const std::string prompt = prompt_of(0);
  EXPECT_TRUE(prompt.starts_with("|system\nS|\n|user\n")) << prompt;
  EXPECT_EQ(prompt.find("aaa"), std::string::npos);
  EXPECT_NE(prompt.find("hhh"), std::string::npos);
  EXPECT_LE(prompt.size() + 50, 600u);
  const Reply short_one = post("/v1/chat/completions", chat_body(R"(, "context_policy": "sliding_window")"));
  EXPECT_EQ(short_one.body.at("context").at("dropped_messages"), 0);
  EXPECT_FALSE(post("/v1/chat/completions", chat_body()).body.as_object().contains("context"));
}

TEST_F(ConversationTest, ATurnThatCannotFitAloneIsAnError) {
  serve(says("Hello"), 60);
  const Reply refused = post("/v1/chat/completions", long_chat(3, R"(, "context_policy": "sliding_window")"));
  EXPECT_EQ(refused.body.at("error").at("code"), "context_length_exceeded") << refused.text;
}

TEST_F(ConversationTest, AClippedAnswerIsTold) {
  serve(says("Hello"), 100);
  const Reply clipped = post("/v1/chat/completions", chat_body(R"(, "max_tokens": 5000)"));
  EXPECT_EQ(clipped.body.at("context").at("requested_max_tokens"), 5000);
  EXPECT_LT(clipped.body.at("context").at("max_tokens").as_int64(), 100);
  EXPECT_NE(clipped.headers.at("x-kvasir-context").find("requested_max_tokens=5000"), std::string::npos);
  const auto events = events_of(
      post("/v1/completions", R"({"model": "m", "prompt": "x", "max_tokens": 5000, "stream": true})").text);
  EXPECT_EQ(events.back().at("context").at("requested_max_tokens"), 5000);
}

TEST_F(ConversationTest, ASummaryTakesThePlaceOfOldTurnsAndIsReused) {
  serve(says("They said a lot."), 1200);
  const std::string more = R"(, "context_policy": "summarize")";
  const Reply first = post("/v1/chat/completions", long_chat(14, more));
  ASSERT_EQ(first.status, 200) << first.text;
  const json::value& context = first.body.at("context");
  EXPECT_GT(context.at("summarized_turns").as_int64(), 2);
  EXPECT_EQ(context.at("summary"), "They said a lot.");
  EXPECT_EQ(context.at("dropped_messages"), 0);
  EXPECT_NE(prompt_of(0).find("You compress conversations."), std::string::npos);
  std::size_t asked = 0;
  while (prompt_of(asked).find("You compress") != std::string::npos) ++asked;
  const std::string prompt = prompt_of(asked);
  EXPECT_NE(prompt.find("They said a lot."), std::string::npos) << prompt;
  EXPECT_EQ(prompt.find("aaa"), std::string::npos);
  EXPECT_NE(prompt.find("nnn"), std::string::npos);
  post("/v1/chat/completions", long_chat(14, more));
  EXPECT_EQ(prompt_of(asked + 1), prompt) << "the second time it is not made again";
}

TEST_F(ConversationTest, AConversationForgetsVisibly) {
  serve(says("ok"), 600);
  const std::string id = create(R"({"model": "m", "settings": {"max_tokens": 20}})");
  json::value message;
  for (char c = 'a'; c < 'i'; ++c) message = say(id, std::string(100, c)).body.at("message");
  EXPECT_GT(message.at("context").at("dropped_messages").as_int64(), 0);
  const json::value all = get(path(id)).body.at("data");
  EXPECT_EQ(all.as_array().size(), 16u) << "what the model does not see is still there";
  const auto dropped = static_cast<std::size_t>(message.at("context").at("dropped_messages").as_int64());
  EXPECT_EQ(message.at("context").at("first_message_id"), all.at(dropped).at("id"));
  EXPECT_EQ(all.as_array().back().at("context"), message.at("context"));
}

}  // namespace
}  // namespace kvasir::api

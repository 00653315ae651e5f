#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "api/answer/write/stream_events.h"
#include "api/key_fixture.h"

namespace kvasir::api {
namespace {

using seam::TokenStream;
using wire::FinishReason;

class BackgroundTest : public KeyedApiTest {
 protected:
  Reply create(const std::string& more = "") {
    return post("/v1/responses", R"({"model": "m", "input": "hi", "background": true)" + more + "}");
  }
  static std::string id_of(const Reply& reply) { return std::string(reply.body.at("id").as_string()); }
  std::string status_of(const std::string& id) {
    const Reply reply = get("/v1/responses/" + id);
    return reply.status == 200 ? std::string(reply.body.at("status").as_string()) : "";
  }
  bool comes_to(const std::string& id, const std::string& status) {
    return eventually([&] { return status_of(id) == status; });
  }
  static void feed(const router::ScriptedWorker::Asked& asked, const std::string& text,
                   std::optional<FinishReason> finish = std::nullopt) {
    TokenStream::send({{asked.stream, {.tokens = router::byte_tokens(text), .finish = finish}}});
  }
  Reply cancel(const std::string& id) { return post("/v1/responses/" + id + "/cancel", ""); }
};

TEST_F(BackgroundTest, IsAcknowledgedAtOnceAndPolledToItsEnd) {
  serve();
  const Reply made = create();
  ASSERT_EQ(made.status, 200) << made.text;
  EXPECT_EQ(made.body.at("status"), "queued");
  EXPECT_EQ(made.body.at("background"), true);
  EXPECT_TRUE(made.body.at("output").as_array().empty());
  const std::string id = id_of(made);
  const auto asked = worker_->wait_for(0);
  EXPECT_EQ(status_of(id), "queued");
  EXPECT_EQ(api_.num_busy(), 1);
  feed(asked, "one ");
  EXPECT_TRUE(comes_to(id, "in_progress"));
  feed(asked, "two", FinishReason::stop);
  EXPECT_TRUE(comes_to(id, "completed"));
  const Reply whole = get("/v1/responses/" + id);
  EXPECT_EQ(whole.body.at_pointer("/output/0/content/0/text"), "one two");
  EXPECT_EQ(whole.body.at("background"), true);
  EXPECT_TRUE(eventually([&] { return api_.num_busy() == 0; }));
  EXPECT_TRUE(eventually([&] { return used().num_requests == 1; }));
}

TEST_F(BackgroundTest, TheConnectionIsFreeMeanwhile) {
  serve();
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/responses", R"({"model": "m", "input": "hi", "background": true})",
                                "Content-Type: application/json\r\n"));
  const auto made = client.read_response();
  ASSERT_TRUE(made);
  const auto id = base::parse_json(made->body)->at("id").as_string();
  client.send(net::get_request("/v1/responses/" + std::string(id)));
  const auto seen = client.read_response();
  ASSERT_TRUE(seen);
  EXPECT_EQ(base::parse_json(seen->body)->at("id").as_string(), id);
}

TEST_F(BackgroundTest, NeedsToBeStored) {
  serve(says("x"));
  const Reply refused = create(R"(, "store": false)");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.body.at_pointer("/error/param"), "background");
  EXPECT_EQ(create(R"(, "model": "n")").status, 400);  // "model" is there twice
  EXPECT_EQ(post("/v1/responses", R"({"model": "n", "input": "hi", "background": true})").status, 404);
}

TEST_F(BackgroundTest, IsCancelled) {
  serve();
  const std::string id = id_of(create());
  const auto asked = worker_->wait_for(0);
  feed(asked, "begun");
  ASSERT_TRUE(comes_to(id, "in_progress"));
  const Reply cancelled = cancel(id);
  ASSERT_EQ(cancelled.status, 200) << cancelled.text;
  EXPECT_EQ(cancelled.body.at("status"), "cancelled");
  EXPECT_TRUE(cancelled.body.at("error").is_null());
  EXPECT_EQ(cancelled.body.at_pointer("/output/0/content/0/text"), "begun");
  EXPECT_EQ(cancelled.body.at_pointer("/output/0/status"), "incomplete");
  EXPECT_TRUE(asked.stream->cancelled());
  EXPECT_EQ(cancel(id).body, cancelled.body);
  EXPECT_TRUE(eventually([&] { return api_.num_busy() == 0; }));
  EXPECT_EQ(cancel("resp_none").status, 404);
}

TEST_F(BackgroundTest, OnlyOnesInTheBackgroundAreCancelled) {
  serve(says("x"));
  const Reply made = post("/v1/responses", R"({"model": "m", "input": "hi"})");
  EXPECT_EQ(cancel(id_of(made)).status, 400);
  const std::string id = id_of(create());
  ASSERT_TRUE(comes_to(id, "completed"));
  EXPECT_EQ(cancel(id).body.at("status"), "completed");
}

TEST_F(BackgroundTest, AFailureIsToldInTheRecord) {
  serve();
  const std::string id = id_of(create());
  const auto asked = worker_->wait_for(0);
  TokenStream::send({{asked.stream, {.error = base::error(base::ErrorCode::internal, "the device failed")}}});
  ASSERT_TRUE(comes_to(id, "failed"));
  const Reply failed = get("/v1/responses/" + id);
  EXPECT_EQ(failed.body.at_pointer("/error/code"), "server_error");
  EXPECT_FALSE(failed.body.at_pointer("/error/message").as_string().empty());
  const auto events = stream_events(get("/v1/responses/" + id + "?stream=true").text);
  EXPECT_EQ(events.back().name, "response.failed");
}

TEST_F(BackgroundTest, WhatTheEngineRefusesFails) {
  serve();
  worker_->refuse_with(base::error(base::ErrorCode::exhausted, "no room"));
  const std::string id = id_of(create());
  EXPECT_TRUE(comes_to(id, "failed"));
}

TEST_F(BackgroundTest, IsStreamedAndTakenUpAgain) {
  serve();
  net::LoopbackClient first(port_);
  first.send(net::post_request("/v1/responses",
                               R"({"model": "m", "input": "hi", "background": true, "stream": true})",
                               "Content-Type: application/json\r\n"));
  const auto asked = worker_->wait_for(0);
  feed(asked, "one ");
  const std::string begun = first.read_until("\"delta\":\"one \"");
  const std::size_t at = begun.find("\"id\":\"resp_") + 6;
  const std::string id = begun.substr(at, begun.find('"', at) - at);
  first.reset();
  feed(asked, "two", FinishReason::stop);
  ASSERT_TRUE(comes_to(id, "completed"));
  const auto all = stream_events(get("/v1/responses/" + id + "?stream=true").text);
  const auto rest = stream_events(get("/v1/responses/" + id + "?stream=true&starting_after=1").text);
  ASSERT_EQ(rest.size() + 2, all.size());
  EXPECT_EQ(rest.front().data.at("sequence_number"), 2);
  std::string text;
  for (const StreamEvent& event : all)
    if (event.name == "response.output_text.delta") text += event.data.at("delta").as_string();
  EXPECT_EQ(text, "one two");
  EXPECT_EQ(all.back().data.at("response"), get("/v1/responses/" + id).body);
}

TEST_F(BackgroundTest, OneWithoutAStreamHasNoEventsBeforeItsEnd) {
  serve();
  const std::string id = id_of(create());
  const Reply refused = get("/v1/responses/" + id + "?stream=true");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.body.at_pointer("/error/param"), "stream");
  const Reply next =
      post("/v1/responses", R"({"model": "m", "input": "x", "previous_response_id": ")" + id + "\"}");
  EXPECT_EQ(next.status, 400);
  EXPECT_EQ(next.body.at_pointer("/error/code"), "response_in_progress");
}

TEST_F(BackgroundTest, ADeletedOneEndsAndStaysGone) {
  serve();
  const std::string id = id_of(create());
  const auto asked = worker_->wait_for(0);
  EXPECT_EQ(ask("DELETE", "/v1/responses/" + id, "").status, 200);
  EXPECT_TRUE(eventually([&] { return asked.stream->cancelled() && api_.num_busy() == 0; }));
  EXPECT_EQ(get("/v1/responses/" + id).status, 404);
}

TEST_F(BackgroundTest, CountsAmongTheTenantsRequests) {
  serve();
  tenancy::Tier tier;
  tier.max_concurrent = 1;
  limit_callers(tier);
  const std::string id = id_of(create());
  const Reply refused = create();
  EXPECT_EQ(refused.status, 429) << refused.text;
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  EXPECT_EQ(refused.headers.count("x-request-id"), 1u);
  EXPECT_EQ(cancel(id).status, 200);
  EXPECT_TRUE(eventually([&] { return create().status == 200; }));
}

TEST_F(BackgroundTest, ARevokedKeyEndsIt) {
  serve();
  add_tenant("acme");
  add_tenant("other");
  const auto key = issue("acme");
  const auto second = issue("acme");
  const auto others = issue("other");
  const Reply made =
      post_with("/v1/responses", R"({"model": "m", "input": "hi", "background": true})", bearer(key));
  ASSERT_EQ(made.status, 200) << made.text;
  const std::string path = "/v1/responses/" + id_of(made);
  const auto asked = worker_->wait_for(0);
  EXPECT_EQ(get_with(path, bearer(others)).status, 404);
  EXPECT_EQ(post_with(path + "/cancel", "", bearer(others)).status, 404);
  revoke(key);
  EXPECT_TRUE(eventually([&] { return get_with(path, bearer(second)).body.at("status") == "failed"; }));
  EXPECT_NE(get_with(path, bearer(second)).text.find("revoked"), std::string::npos);
  EXPECT_TRUE(asked.stream->cancelled());
}

TEST_F(BackgroundTest, OneWhoseServerDiedHasFailed) {
  serve();
  ASSERT_TRUE(
      store_->answers()
          .put(
              {.id = "resp_1",
               .tenant = tenancy::anonymous().tenant,
               .kind = "response",
               .input = "[]",
               .body = R"({"id":"resp_1","status":"in_progress","background":true,"error":null,"output":[]})",
               .state = store::AnswerState::interrupted})
          .ok());
  EXPECT_EQ(status_of("resp_1"), "failed");
  EXPECT_NE(get("/v1/responses/resp_1").text.find("the server ended"), std::string::npos);
}

}  // namespace
}  // namespace kvasir::api

#include <gtest/gtest.h>

#include <map>
#include <semaphore>
#include <string>

#include "api/key_fixture.h"
#include "api/operations/usage_query.h"
#include "seam/token_stream.h"

namespace kvasir::api {
namespace {

using seam::TokenStream;

// The prices: a prompt token costs 1000 nano, a cached one 100, and an output token 3000.
meter::Meter::Options with_prices() {
  return {.prices = {{.model = "m",
                      .prompt_nano = 1'000'000'000,
                      .cached_nano = 100'000'000,
                      .completion_nano = 3'000'000'000,
                      .currency = "EUR"}}};
}

ServiceOptions test_options() {
  return {.ping_interval = std::chrono::milliseconds(20), .max_sequences = 10};
}

class UsageTest : public ApiTest {
 protected:
  UsageTest() : ApiTest(test_options(), with_prices()) {}

  // Waits until this many requests are counted, and returns the rows of a report.
  json::array rows(int num_requests, const std::string& query = "") {
    EXPECT_TRUE(eventually([&] { return used().num_requests == num_requests; })) << used().num_requests;
    const Reply reply = get("/v1/usage" + query);
    EXPECT_EQ(reply.status, 200) << reply.text;
    return reply.body.at("data").as_array();
  }
  static std::int64_t number(const json::value& row, const char* name) { return row.at(name).as_int64(); }
};

TEST_F(UsageTest, AnAnswersUsageAndCostAreCounted) {
  serve(says("hello"));
  const Reply whole = post("/v1/chat/completions", chat_body());
  ASSERT_EQ(whole.status, 200) << whole.text;
  const std::int64_t prompt = number(whole.body.at("usage"), "prompt_tokens");
  const json::array one = rows(1);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(number(one[0], "prompt_tokens"), prompt);
  EXPECT_EQ(number(one[0], "cached_tokens"), 2);
  EXPECT_EQ(number(one[0], "completion_tokens"), 5);
  const std::int64_t cost = (prompt - 2) * 1000 + 2 * 100 + 5 * 3000;
  EXPECT_EQ(number(one[0], "cost_nano"), cost);
  EXPECT_DOUBLE_EQ(one[0].at("cost").as_double(), static_cast<double>(cost) / 1e9);
  EXPECT_EQ(one[0].at("currency"), "EUR");
  EXPECT_EQ(number(one[0], "cancelled") + number(one[0], "failed"), 0);
  (void)events_of(post("/v1/chat/completions", chat_body(R"(, "stream": true, "n": 2)")).text);
  const json::array two = rows(2);
  EXPECT_EQ(number(two[0], "prompt_tokens"), 2 * prompt) << "a prompt counts once for all its choices";
  EXPECT_EQ(number(two[0], "completion_tokens"), 15);
}

TEST_F(UsageTest, AClientThatLeftIsCountedOnceWithWhatWasGenerated) {
  serve();
  {
    net::LoopbackClient client(port_);
    client.send(net::post_request("/v1/chat/completions", chat_body(R"(, "stream": true)")));
    const auto asked = worker_->wait_for(0);
    TokenStream::send({{asked.stream, {.tokens = router::byte_tokens("ab"), .usage = {.output_tokens = 2}}}});
    client.read_until("\"ab\"");
    client.reset();
  }
  const json::array one = rows(1);
  EXPECT_EQ(number(one[0], "cancelled"), 1);
  EXPECT_EQ(number(one[0], "completion_tokens"), 2);
  EXPECT_GT(number(one[0], "cost_nano"), 6000);
}

TEST_F(UsageTest, AFailureIsCountedAndCostsNothing) {
  serve([](const wire::GenerateRequest&) {
    std::vector<wire::TokenEvent> events(2);
    events[0] = {.tokens = router::byte_tokens("a"), .usage = {.output_tokens = 1}};
    events[1].error = base::error(base::ErrorCode::internal, "the engine failed");
    return events;
  });
  EXPECT_EQ(post("/v1/chat/completions", chat_body()).status, 500);
  const json::array one = rows(1);
  EXPECT_EQ(number(one[0], "failed"), 1);
  EXPECT_EQ(number(one[0], "completion_tokens"), 1);
  EXPECT_EQ(number(one[0], "cost_nano"), 0);
}

TEST_F(UsageTest, WhatWasRefusedLeavesNoRecord) {
  serve(says("ok"));
  EXPECT_EQ(post("/v1/chat/completions", R"({"model": "m"})").status, 400);
  EXPECT_EQ(post("/v1/chat/completions", chat_body(R"(, "n": 11)")).status, 400);
  worker_->refuse_with(base::error(base::ErrorCode::exhausted, "full"));
  EXPECT_EQ(post("/v1/chat/completions", chat_body()).status, 429);
  worker_->refuse_no_more();
  EXPECT_EQ(post("/v1/chat/completions", chat_body()).status, 200);
  EXPECT_EQ(number(rows(1)[0], "completion_tokens"), 2);
}

TEST_F(UsageTest, AStoredMessageHasItsCost) {
  serve(says("hello"));
  const std::string id(post("/v1/conversations", R"({"model": "m"})").body.at("id").as_string());
  const Reply turn = post("/v1/conversations/" + id + "/messages", R"({"content": "hi"})");
  ASSERT_EQ(turn.status, 200) << turn.text;
  const json::array one = rows(1);
  EXPECT_DOUBLE_EQ(turn.body.at("message").at("cost").as_double(), one[0].at("cost").as_double());
}

TEST_F(UsageTest, TotalsAreGroupedAndPaged) {
  serve();
  const auto row = [](std::int64_t day, std::string key, std::string currency, std::int64_t n) {
    return store::UsageRow{{tenancy::anonymous().tenant, day, std::move(key), "m", std::move(currency)},
                           {.num_requests = n, .prompt_tokens = n, .cost_nano = 1'500'000'000 * n}};
  };
  // The rows are for days of January 1970.
  ASSERT_TRUE(store_->usage()
                  .fold({.log = "l",
                         .to = 1,
                         .rows = {row(0, "k1", "EUR", 1), row(1, "a\"b,c", "EUR", 2), row(2, "k1", "", 4),
                                  row(31, "k1", "EUR", 8)}})
                  .ok());
  const std::string january = "/v1/usage?start=1970-01-01&end=1970-02-01";
  const Reply by_day = get(january + "&group_by=day,key&limit=2");
  ASSERT_EQ(by_day.status, 200) << by_day.text;
  EXPECT_EQ(by_day.body.at("start"), "1970-01-01");
  const json::array& data = by_day.body.at("data").as_array();
  ASSERT_EQ(data.size(), 2u);
  EXPECT_EQ(data[1].at("day"), "1970-01-02");
  EXPECT_EQ(data[1].at("key"), "a\"b,c");
  EXPECT_FALSE(data[1].as_object().contains("model"));
  EXPECT_TRUE(by_day.body.at("has_more").as_bool());
  EXPECT_EQ(by_day.body.at("next_page"), 2);
  const Reply rest = get(january + "&group_by=day,key&limit=2&page=2");
  ASSERT_EQ(rest.body.at("data").as_array().size(), 1u);
  EXPECT_TRUE(rest.body.at("data").at(0).at("cost").is_null()) << "there was no price";
  EXPECT_TRUE(rest.body.at("next_page").is_null());
  const Reply csv = get(january + "&group_by=key&format=csv&limit=2");
  EXPECT_EQ(csv.headers.at("content-type"), "text/csv; charset=utf-8");
  EXPECT_EQ(csv.headers.at("x-kvasir-next-page"), "2");
  EXPECT_EQ(csv.text,
            "key,requests,cancelled,failed,prompt_tokens,cached_tokens,completion_tokens,cost,currency\r\n"
            "\"a\"\"b,c\",2,0,0,2,0,0,3.000000000,EUR\r\n"
            "k1,4,0,0,4,0,0,,\r\n");
  EXPECT_EQ(get("/v1/usage").body.at("data").as_array().size(), 0u) << "the last 30 days";
}

TEST_F(UsageTest, AWrongQueryIsNamed) {
  serve();
  const auto field = [&](const std::string& query) {
    const Reply reply = get("/v1/usage?" + query);
    EXPECT_EQ(reply.status, 400) << query;
    return std::string(reply.body.at("error").at("param").as_string());
  };
  EXPECT_EQ(field("start=yesterday"), "start");
  EXPECT_EQ(field("start=2026-02-30"), "start");
  EXPECT_EQ(field("start=2026-1-003"), "start");
  EXPECT_EQ(field("start=2026-02-03&end=2026-02-03"), "end");
  EXPECT_EQ(field("group_by=key,hour"), "group_by");
  EXPECT_EQ(field("format=xml"), "format");
  EXPECT_EQ(field("limit=0"), "limit");
  EXPECT_EQ(get("/v1/usage?tenant=another").status, 403);
  EXPECT_EQ(get("/v1/usage?tenant=" + tenancy::anonymous().tenant).status, 200);
}

TEST_F(KeyedApiTest, ATenantSeesItsOwnUsageAndAnAdministratorAll) {
  serve(says("hello"));
  add_tenant("acme");
  add_tenant("other");
  const tenancy::IssuedKey one = issue("acme");
  const tenancy::IssuedKey two = issue("acme");
  const tenancy::IssuedKey others = issue("other");
  const tenancy::IssuedKey admin = issue("other", Scope::admin);
  for (const tenancy::IssuedKey* key : {&one, &two, &two, &others})
    ASSERT_EQ(post_with("/v1/chat/completions", chat_body(), bearer(*key)).status, 200);
  ASSERT_TRUE(eventually([&] { return used().num_requests == 4; }));
  const auto counts = [&](const std::string& path, const tenancy::IssuedKey& key, const char* group) {
    std::map<std::string, std::int64_t> seen;
    const Reply reply = get_with(path + "group_by=" + group, bearer(key));
    EXPECT_EQ(reply.status, 200) << reply.text;
    for (const json::value& row : reply.body.at("data").as_array())
      seen[std::string(row.at(group).as_string())] = row.at("requests").as_int64();
    return seen;
  };
  using Counts = std::map<std::string, std::int64_t>;
  EXPECT_EQ(counts("/v1/usage?", one, "tenant"), (Counts{{"acme", 3}}));
  EXPECT_EQ(counts("/v1/usage?", one, "key"), (Counts{{one.key.id, 1}, {two.key.id, 2}}));
  EXPECT_EQ(counts("/v1/admin/usage?", admin, "tenant"), (Counts{{"acme", 3}, {"other", 1}}));
  EXPECT_EQ(counts("/v1/admin/usage?tenant=acme&", admin, "key"), (Counts{{one.key.id, 1}, {two.key.id, 2}}));
  EXPECT_EQ(get_with("/v1/usage?tenant=other", bearer(one)).status, 403);
  EXPECT_EQ(get_with("/v1/admin/usage", bearer(one)).status, 403);
}

TEST_F(KeyedApiTest, ARevokedKeysRequestIsCountedOnce) {
  serve();
  add_tenant("acme");
  const tenancy::IssuedKey key = issue("acme");
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", chat_body(R"(, "stream": true)"), bearer(key)));
  const auto asked = worker_->wait_for(0);
  TokenStream::send({{asked.stream, {.tokens = router::byte_tokens("ab"), .usage = {.output_tokens = 2}}}});
  client.read_until("\"ab\"");
  revoke(key);
  EXPECT_NE(client.read_until("key_revoked").find("key_revoked"), std::string::npos);
  ASSERT_TRUE(eventually([&] { return used().num_requests == 1; }));
  EXPECT_EQ(used().num_cancelled, 1);
  EXPECT_EQ(used().completion_tokens, 2);
}

// A base class, so that it outlives the meter that waits for it.
struct Gate {
  std::counting_semaphore<> go{0};
};

// A disk that hangs delays the end of a stream by a bounded time, and its tokens not at all.
class SlowDiskTest : private Gate, public ApiTest {
 protected:
  SlowDiskTest() : ApiTest(options(), {.log = {.before_sync = [this] { go.acquire(); }}}) {}
  ~SlowDiskTest() override { go.release(1000); }
  static ServiceOptions options() {
    return {.ping_interval = std::chrono::seconds(5), .max_commit_wait = std::chrono::milliseconds(100)};
  }
};

TEST_F(SlowDiskTest, TheStreamEndsAllTheSame) {
  serve();
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", chat_body(R"(, "stream": true)")));
  const auto asked = worker_->wait_for(0);
  client.read_until("\r\n\r\n");
  TokenStream::send({{asked.stream, {.tokens = router::byte_tokens("ab")}}});
  EXPECT_NE(client.read_until("ab").find("ab"), std::string::npos);
  const base::TimePoint sent = clock_.now();
  TokenStream::send(
      {{asked.stream, {.tokens = router::byte_tokens("c"), .finish = wire::FinishReason::stop}}});
  EXPECT_NE(client.read_until("[DONE]").find("[DONE]"), std::string::npos);
  EXPECT_GE(clock_.now() - sent, std::chrono::milliseconds(100)) << "it waits for the disk that long";
  EXPECT_EQ(used().num_requests, 0);
}

}  // namespace
}  // namespace kvasir::api

#include <gtest/gtest.h>

#include "api/answer/write/stream_events.h"
#include "api/api_fixture.h"
#include "api/http/wait/event_log.h"

namespace kvasir::api {
namespace {

using seam::TokenStream;
using wire::FinishReason;

TEST(EventLog, NumbersAndReplaysEvents) {
  const base::RealClock clock;
  EventLog log(1 << 20, clock);
  EXPECT_EQ(log.append("data: a\n\nevent: x\ndata: b\n\n"), "id: 1\ndata: a\n\nid: 2\nevent: x\ndata: b\n\n");
  log.append("data: c\n\n");
  const auto page = log.read(1, 1000);
  EXPECT_EQ(page->events, "id: 2\nevent: x\ndata: b\n\nid: 3\ndata: c\n\n");
  EXPECT_EQ(page->last, 3u);
  EXPECT_FALSE(page->complete);
  EXPECT_EQ(log.read(0, 1)->last, 1u);  // a page has at least one event, however small it is
  log.end();
  EXPECT_FALSE(log.read(0, 1)->complete);
  EXPECT_TRUE(log.read(2, 1000)->complete);
  EXPECT_TRUE(log.read(3, 1000)->complete);
  EXPECT_EQ(log.read(9, 1000)->events, "");
}

TEST(EventLog, HoldsABoundedNumberOfBytes) {
  const base::RealClock clock;
  EventLog log(100, clock);
  for (int i = 0; i < 1000; ++i) log.append("data: 0123456789\n\n");
  const auto lost = log.read(0, 1000);
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().reason, "events_gone");
  EXPECT_TRUE(log.read(999, 1000).ok());
  EXPECT_LE(log.read(997, 1000)->events.size(), 100u);
}

TEST(EventLogs, AreBoundedInNumberAndTime) {
  base::FakeClock clock;
  EventLogs logs({.max_logs = 2, .max_bytes_per_log = 100, .keep = std::chrono::seconds(60)}, clock);
  const auto first = logs.open({"", "1"}).value();
  const auto second = logs.open({"", "2"}).value();
  EXPECT_EQ(logs.open({"", "3"}).error().code, base::ErrorCode::exhausted);
  first->end();
  ASSERT_TRUE(logs.open({"", "3"}).ok());  // takes the place of the log that has ended
  EXPECT_FALSE(logs.find({"", "1"}).ok());
  EXPECT_TRUE(logs.find({"", "2"}).ok());
  second->end();
  clock.advance(std::chrono::seconds(59));
  EXPECT_TRUE(logs.find({"", "2"}).ok());
  clock.advance(std::chrono::seconds(1));
  EXPECT_FALSE(logs.find({"", "2"}).ok());
}

TEST(EventLogs, OneTenantLeavesPlacesForOthers) {
  const base::FakeClock clock;
  EventLogs logs({.max_logs = 8}, clock);
  std::shared_ptr<EventLog> last;
  for (const char* id : {"1", "2", "3", "4"}) last = logs.open({"greedy", id}).value();
  const auto refused = logs.open({"greedy", "5"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason, "too_many_resumable_streams");
  EXPECT_TRUE(logs.open({"other", "1"}).ok());
  EXPECT_TRUE(logs.open({"other", "2"}).ok());
  EXPECT_FALSE(logs.open({"other", "3"}).ok());
  EXPECT_TRUE(logs.open({"third", "1"}).ok());
  last->end();
  EXPECT_FALSE(logs.open({"greedy", "5"}).ok());  // six logs run, and three of them are its own
  EventLogs without_keys({.max_logs = 8}, clock);
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(without_keys.open({"", std::to_string(i)}).ok()) << i;
}

TEST(EventLogs, OneThatNobodyReadsIsAbandoned) {
  base::FakeClock clock;
  EventLogs logs({.keep = std::chrono::seconds(60)}, clock);
  const auto log = logs.open({"t", "1"}).value();
  auto reader = std::make_unique<EventLog::Reader>(log, [] {});
  clock.advance(std::chrono::seconds(100));
  EXPECT_FALSE(logs.abandoned(*log));
  reader.reset();
  EXPECT_FALSE(logs.abandoned(*log));
  clock.advance(std::chrono::seconds(60));
  EXPECT_TRUE(logs.abandoned(*log));
}

const std::string kResumable = R"(, "stream": true, "stream_options": {"resumable": true})";

void feed(const router::ScriptedWorker::Asked& asked, const std::string& text,
          std::optional<FinishReason> finish = std::nullopt) {
  TokenStream::send({{asked.stream, {.tokens = router::byte_tokens(text), .finish = finish}}});
}

std::string content_of(const std::vector<StreamEvent>& events) {
  std::string text;
  for (const StreamEvent& event : events)
    if (event.data.is_object() && !event.data.at("choices").as_array().empty())
      if (const json::value* content =
              event.data.at("choices").at(0).at("delta").as_object().if_contains("content"))
        text += content->as_string();
  return text;
}

// Reads the stream's id from the headers.
std::string stream_id(net::LoopbackClient& client) {
  const std::string headers = client.read_until("\r\n\r\n");
  const std::size_t at = headers.find("x-stream-id: ");
  EXPECT_NE(at, std::string::npos) << headers;
  return headers.substr(at + 13, headers.find('\r', at) - at - 13);
}

TEST_F(ApiTest, AResumableStreamSurvivesItsClient) {
  serve();
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", chat_body(kResumable)));
  const auto asked = worker_->wait_for(0);
  const std::string id = stream_id(client);
  feed(asked, "one ");
  EXPECT_NE(client.read_until("one ").find("id: 2\n"), std::string::npos);
  client.reset();
  feed(asked, "two ");
  net::LoopbackClient second(port_);
  second.send(net::get_request("/v1/streams/" + id + "?after=2"));
  second.read_until("two ");
  feed(asked, "three", FinishReason::stop);
  const std::string rest = second.read_until("[DONE]");
  EXPECT_NE(rest.find("three"), std::string::npos);
  EXPECT_FALSE(asked.stream->cancelled());

  const Reply all = get("/v1/streams/" + id + "?after=0");
  const auto events = stream_events(all.text);
  for (std::size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].number, i + 1);
  EXPECT_EQ(content_of(events), "one two three");
  EXPECT_EQ(events.back().data.as_string(), "[DONE]");
  const auto tail = stream_events(get("/v1/streams/" + id + "?after=3").text);
  EXPECT_EQ(tail.size(), events.size() - 3);
  const Reply again = exchange(net::get_request("/v1/streams/" + id, "Last-Event-ID: 3\r\n"));
  EXPECT_EQ(stream_events(again.text).size(), tail.size());
}

TEST_F(ApiTest, OtherStreamsEndWithTheirClient) {
  serve();
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", chat_body(R"(, "stream": true)")));
  const auto asked = worker_->wait_for(0);
  const std::string id = stream_id(client);
  client.reset();
  EXPECT_TRUE(eventually([&] { return asked.stream->cancelled(); }));
  EXPECT_EQ(get("/v1/streams/" + id).status, 404);
}

TEST_F(ApiTest, AResumedResponseHasItsEvents) {
  serve();
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/responses",
                                R"({"model": "m", "input": "hi", "store": false)" + kResumable + "}"));
  const auto asked = worker_->wait_for(0);
  const std::string id = stream_id(client);
  EXPECT_TRUE(id.starts_with("resp_"));
  client.reset();
  feed(asked, "late", FinishReason::stop);
  const auto events = stream_events(get("/v1/streams/" + id).text);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.front().name, "response.created");
  EXPECT_EQ(events.back().name, "response.completed");
}

TEST_F(ApiTest, WrongRequestsForAStream) {
  serve();
  EXPECT_EQ(get("/v1/streams/nothing").status, 404);
  EXPECT_EQ(get("/v1/streams/nothing?after=-1").status, 400);
  EXPECT_EQ(get("/v1/streams/nothing?after=x").status, 400);
  EXPECT_EQ(post("/v1/chat/completions", chat_body(R"(, "stream_options": {"resumable": true})")).status,
            400);
}

TEST_F(ApiTest, AFailureOfAResumableStreamIsReplayed) {
  serve();
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", chat_body(kResumable)));
  const auto asked = worker_->wait_for(0);
  const std::string id = stream_id(client);
  client.reset();
  TokenStream::send(
      {{asked.stream, {.error = base::Error{base::ErrorCode::internal, "the worker is gone"}}}});
  const Reply reply = get("/v1/streams/" + id);
  EXPECT_NE(reply.text.find("the worker is gone"), std::string::npos) << reply.text;
}

}  // namespace
}  // namespace kvasir::api

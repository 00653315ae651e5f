#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "api/api_fixture.h"

namespace kvasir::api {
namespace {

using seam::TokenStream;

// Tests the traces that are kept although no request is sampled.
class TracesTest : public ApiTest {
 protected:
  obs::FinishedTrace kept() {
    std::vector<obs::FinishedTrace> traces = tracer_.wait(1, std::chrono::milliseconds(0));
    EXPECT_EQ(traces.size(), 1u);
    return std::move(traces.at(0));
  }
  static const obs::Attribute* find(const obs::Span& span, std::string_view key) {
    const auto it = std::ranges::find(span.attributes, key, &obs::Attribute::key);
    return it == span.attributes.end() ? nullptr : &*it;
  }
  static std::string error_type(const obs::Span& span) {
    const obs::Attribute* const found = find(span, "error.type");
    return found == nullptr ? "" : std::get<std::string>(found->value);
  }
  static const obs::Span& span(const obs::FinishedTrace& trace, const std::string& name) {
    const auto it = std::ranges::find(trace.spans, name, &obs::Span::name);
    EXPECT_NE(it, trace.spans.end()) << name;
    return it == trace.spans.end() ? trace.spans.front() : *it;
  }
};

TEST_F(TracesTest, ARequestThatTheServerFailsIsKept) {
  serve(says("fine"));
  EXPECT_EQ(post("/v1/chat/completions", chat_body()).status, 200);
  worker_->refuse_with({base::ErrorCode::internal, "broken", {}, "odd_failure"});
  const Reply reply = post("/v1/chat/completions", chat_body());
  EXPECT_EQ(reply.status, 500);
  const obs::FinishedTrace trace = kept();
  EXPECT_EQ(reply.headers.at("traceparent").substr(3, 32), obs::hex_of(trace.id));
  EXPECT_TRUE(trace.spans[0].failed);
  EXPECT_EQ(error_type(trace.spans[0]), "odd_failure");
  EXPECT_TRUE(span(trace, "chat m").failed);
}

TEST_F(TracesTest, AStreamThatFailsIsKeptAlthoughItsStatusIs200) {
  serve();
  net::LoopbackClient client(port_);
  client.send(net::post_request("/v1/chat/completions", chat_body(R"(, "stream": true)")));
  const base::Error failure{base::ErrorCode::internal, "the numbers went wrong"};
  wire::TokenEvent event{.tokens = router::byte_tokens("half"), .error = failure};
  event.prefill = {{.step = 3, .num_tokens = 20, .began_s = 1, .ended_s = 2}};
  TokenStream::send({{worker_->wait_for(0).stream, std::move(event)}});
  EXPECT_EQ(client.read_response()->status, 200);
  const obs::FinishedTrace trace = kept();
  EXPECT_TRUE(trace.spans[0].failed);
  EXPECT_EQ(error_type(span(trace, "chat m")), "failed");
  EXPECT_EQ(std::get<std::int64_t>(find(span(trace, "prefill chunk"), "kvasir.step")->value), 3);
  EXPECT_EQ(span(trace, "prefill chunk").parent, span(trace, "prefill").id);
}

TEST_F(TracesTest, ARefusedRequestIsKeptAndNotTheServersFault) {
  serve(says("fine"));
  EXPECT_EQ(post("/v1/chat/completions", chat_body(R"(, "n": 0)")).status, 400);
  const obs::FinishedTrace trace = kept();
  EXPECT_FALSE(trace.spans[0].failed);
  EXPECT_EQ(error_type(trace.spans[0]), "invalid_value");
}

TEST_F(TracesTest, WhoeverAsksForWhatIsNotThereFillsNothing) {
  serve(says("fine"));
  EXPECT_EQ(get("/v1/nothing").status, 404);
  EXPECT_EQ(get("/health/live").headers.at("traceparent").size(), 55u);
  EXPECT_EQ(post("/v1/chat/completions", chat_body(R"(, "n": 0)")).status, 400);
  EXPECT_EQ(kept().spans[0].name, "POST /v1/chat/completions");
}

}  // namespace
}  // namespace kvasir::api

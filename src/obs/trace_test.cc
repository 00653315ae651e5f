#include "obs/trace.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/json.h"
#include "obs/otlp.h"
#include "obs/tracer.h"

namespace kvasir::obs {
namespace {

constexpr std::string_view kParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
using std::chrono::milliseconds;

TEST(TraceContextTest, ReadsWhatItWrites) {
  const auto context = parse_trace_context(kParent, "vendor=1,other=2");
  ASSERT_TRUE(context);
  EXPECT_TRUE(context->sampled);
  EXPECT_EQ(hex_of(context->trace_id), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(hex_of(context->span_id), "b7ad6b7169203331");
  EXPECT_EQ(TraceHeaders(*context).traceparent, kParent);
  EXPECT_EQ(TraceHeaders(*context).tracestate, "vendor=1,other=2");
}

TEST(TraceContextTest, WhatIsNotAsTheStandardSaysIsNone) {
  for (const std::string_view wrong : {"", "00", "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
                                       "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                                       "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                                       "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                                       "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
                                       "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01more",
                                       "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                                       "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333x-01"})
    EXPECT_FALSE(parse_trace_context(wrong, "")) << wrong;
  EXPECT_TRUE(parse_trace_context("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03-more", ""));
  EXPECT_EQ(parse_trace_context(kParent, std::string(513, 'a'))->state, "");
  EXPECT_EQ(parse_trace_context(kParent, "a=\x01")->state, "");
}

class TraceTest : public testing::Test {
 protected:
  base::FakeClock clock_;
  static std::vector<FinishedTrace> exported(Tracer& tracer) {
    tracer.hurry();
    return tracer.wait(1 << 20, milliseconds(0));
  }
};

TEST_F(TraceTest, SpansHaveTheirParentsAndTimes) {
  Tracer tracer({.records = true}, clock_);
  {
    const auto trace = tracer.begin("GET /", parse_trace_context(kParent, "v=1"), Tracer::Detail::spans);
    clock_.advance(milliseconds(1));
    SpanScope outer(*trace, "outer");
    clock_.advance(milliseconds(1));
    trace->add("inner", clock_.now(), clock_.now() + milliseconds(5), outer.index());
    outer.note("n", 3);
  }
  const auto traces = exported(tracer);
  ASSERT_EQ(traces.size(), 1u);
  const std::vector<Span>& spans = traces[0].spans;
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(hex_of(traces[0].id), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(traces[0].state, "v=1");
  EXPECT_EQ(hex_of(spans[0].parent), "b7ad6b7169203331");
  EXPECT_EQ(spans[1].parent, spans[0].id);
  EXPECT_EQ(spans[2].parent, spans[1].id);
  EXPECT_EQ(spans[1].end - spans[1].start, milliseconds(1));
  EXPECT_EQ(spans[0].end - spans[0].start, milliseconds(2));
}

TEST_F(TraceTest, OnlySampledOrRemarkableTracesAreKept) {
  Tracer tracer({.records = true, .sample_rate = 0}, clock_);
  tracer.begin("a", {}, Tracer::Detail::spans);
  tracer.begin("b", {}, Tracer::Detail::spans)->keep();
  tracer.begin("c", parse_trace_context(kParent, ""), Tracer::Detail::spans);
  tracer.begin("d", parse_trace_context(kParent, ""), Tracer::Detail::ids_only)->keep();
  const auto traces = exported(tracer);
  ASSERT_EQ(traces.size(), 2u);
  EXPECT_EQ(traces[0].spans[0].name, "b");
  EXPECT_EQ(traces[1].spans[0].name, "c");
}

TEST_F(TraceTest, TheParentsNoIsRespected) {
  Tracer tracer({.records = true}, clock_);
  std::string unsampled(kParent);
  unsampled.back() = '0';
  const auto trace = tracer.begin("a", parse_trace_context(unsampled, ""), Tracer::Detail::spans);
  EXPECT_TRUE(trace->headers().traceparent.ends_with("-00"));
}

TEST_F(TraceTest, ARateTakesThatPart) {
  Tracer tracer({.records = true, .sample_rate = 0.25}, clock_);
  int sampled = 0;
  for (int i = 0; i < 4000; ++i) sampled += tracer.samples(random_trace_id()) ? 1 : 0;
  EXPECT_NEAR(sampled, 1000, 150);
}

TEST_F(TraceTest, AFullQueueDropsAndCounts) {
  Tracer tracer({.records = true, .max_queued_spans = 2}, clock_);
  for (int i = 0; i < 5; ++i) tracer.begin("a", {}, Tracer::Detail::spans);
  EXPECT_EQ(tracer.num_dropped_spans(), 3u);
  EXPECT_EQ(exported(tracer).size(), 2u);
}

TEST_F(TraceTest, ATraceHasAMostOfSpans) {
  Tracer tracer({.records = true}, clock_);
  {
    const auto trace = tracer.begin("a", {}, Tracer::Detail::spans);
    for (int i = 0; i < 300; ++i) trace->begin("b");
  }
  const auto traces = exported(tracer);
  ASSERT_EQ(traces[0].spans.size(), Trace::kMaxSpans);
  EXPECT_EQ(traces[0].spans[0].attributes[0].key, "kvasir.spans_left_out");
}

TEST_F(TraceTest, AnExporterWaitsForEnoughOrForItsTime) {
  Tracer tracer({.records = true}, clock_);
  std::vector<FinishedTrace> got;
  std::thread exporter([&] { got = tracer.wait(3, std::chrono::hours(1)); });
  for (int i = 0; i < 3; ++i) tracer.begin("a", {}, Tracer::Detail::spans);
  exporter.join();
  EXPECT_EQ(got.size(), 3u);
  tracer.begin("a", {}, Tracer::Detail::spans);
  EXPECT_EQ(tracer.wait(3, milliseconds(1)).size(), 1u);
}

TEST_F(TraceTest, JsonHasHexIdsAndTextNumbers) {
  Tracer tracer({.records = true}, clock_);
  {
    const auto trace = tracer.begin("a", parse_trace_context(kParent, ""), Tracer::Detail::spans);
    trace->note(Trace::kRoot, "n", 3);
    trace->fail(Trace::kRoot, "broken");
  }
  const auto parsed = base::parse_json(otlp_json(exported(tracer), {}));
  ASSERT_TRUE(parsed.ok());
  const auto& span = parsed->at_pointer("/resourceSpans/0/scopeSpans/0/spans/0").as_object();
  EXPECT_EQ(span.at("traceId"), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(span.at("parentSpanId"), "b7ad6b7169203331");
  EXPECT_EQ(parsed->at_pointer("/resourceSpans/0/scopeSpans/0/spans/0/attributes/0/value/intValue"), "3");
  EXPECT_EQ(parsed->at_pointer("/resourceSpans/0/scopeSpans/0/spans/0/status/code"), 2);
}

}  // namespace
}  // namespace kvasir::obs

#include "bench/answer_reader.h"

#include <gtest/gtest.h>

#include "bench/answer_event.h"

namespace kvasir::bench {
namespace {

constexpr std::string_view kStream =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
    ": ping\n\n"
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Par\"},\"finish_reason\":null}]}\n\n"
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"is\"},\"finish_reason\":null}]}\n\n"
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":3,"
    "\"prompt_tokens_details\":{\"cached_tokens\":4}}}\n\n"
    "data: [DONE]\n\n";

// Reads one answer. The clock advances by a second with every piece that is read.
struct Reading {
  RequestRecord record;
  double now = 0;
  AnswerReader reader{record, [this] { return now; }};

  void feed(std::string_view stream, std::size_t piece, int status = 200) {
    net::HttpReply reply;
    reply.status = status;
    ASSERT_TRUE(reader.sink().head(reply).ok());
    base::Status status_of = base::ok();
    for (std::size_t at = 0; at < stream.size() && status_of.ok(); at += piece) {
      now += 1;
      status_of = reader.sink().body(stream.substr(at, piece));
    }
    now += 1;
    if (status_of.ok())
      reader.conclude(reply);
    else
      reader.conclude(status_of.error());
  }
};

TEST(AnswerReader, ReadsTheSameWhereverTheBytesAreCut) {
  for (std::size_t piece = 1; piece <= kStream.size(); ++piece) {
    Reading reading;
    reading.feed(kStream, piece);
    const RequestRecord& record = reading.record;
    EXPECT_TRUE(record.ok()) << piece << ": " << record.message;
    EXPECT_EQ(reading.reader.text(), "Paris");
    ASSERT_EQ(record.chunks_s.size(), 2u);
    EXPECT_EQ(record.first_s, record.chunks_s[0]);
    EXPECT_LE(record.chunks_s[0], record.chunks_s[1]);
    EXPECT_TRUE(record.counted);
    EXPECT_EQ(record.prompt_tokens, 12);
    EXPECT_EQ(record.cached_tokens, 4);
    EXPECT_EQ(record.output_tokens, 3);
  }
}

TEST(AnswerReader, CountsChunksWithoutUsage) {
  Reading reading;
  reading.feed(
      "data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: {\"choices\":[{\"text\":\"b\"}]}\n\ndata: [DONE]\n\n",
      1000);
  EXPECT_TRUE(reading.record.ok());
  EXPECT_FALSE(reading.record.counted);
  EXPECT_EQ(reading.record.output_tokens, 2);
}

TEST(AnswerReader, TellsTheEndsApart) {
  const auto failure = [](std::string_view stream, int status = 200) {
    Reading reading;
    reading.feed(stream, 7, status);
    return kind_of(reading.record);
  };
  const std::string token = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
  EXPECT_EQ(failure(token), "cut");
  EXPECT_EQ(failure(token + "data: {\"error\":{\"message\":\"boom\"}}\n\n"), "error event");
  EXPECT_EQ(failure(token + "data: {oops\n\n"), "malformed");
  EXPECT_EQ(failure("{\"choices\":[]}"), "malformed");
  EXPECT_EQ(failure("data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"), "empty");
  EXPECT_EQ(failure("{\"error\":{\"message\":\"too many\"}}", 429), "http 429");
}

TEST(AnswerReader, KeepsTheServersWords) {
  Reading refused;
  refused.feed("{\"error\":{\"message\":\"too many\"}}", 5, 429);
  EXPECT_EQ(refused.record.message, "too many");
  Reading broken;
  broken.feed("data: {\"error\":{\"message\":\"boom\"}}\n\n", 5);
  EXPECT_EQ(broken.record.message, "boom");
}

TEST(AnswerReader, TellsFailedExchangesApart) {
  const auto failure = [](base::ErrorCode code) {
    Reading reading;
    reading.reader.conclude(base::error(code, "why"));
    return kind_of(reading.record);
  };
  EXPECT_EQ(failure(base::ErrorCode::unavailable), "connect");
  EXPECT_EQ(failure(base::ErrorCode::timeout), "timeout");
  EXPECT_EQ(failure(base::ErrorCode::io), "cut");
}

TEST(AnswerEvent, TakesReasoningAndToolCallsAsGenerated) {
  EXPECT_EQ(parse_answer_event(R"({"choices":[{"delta":{"reasoning_content":"hm"}}]})")->text, "hm");
  EXPECT_TRUE(parse_answer_event(
                  R"({"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{"}}]}}]})")
                  ->generated);
  EXPECT_FALSE(parse_answer_event(R"({"choices":[{"delta":{"role":"assistant"}}]})")->generated);
  EXPECT_FALSE(parse_answer_event("3").ok());
}

}  // namespace
}  // namespace kvasir::bench

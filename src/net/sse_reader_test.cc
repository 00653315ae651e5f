#include "net/sse_reader.h"

#include <gtest/gtest.h>

#include <vector>

namespace kvasir::net {
namespace {

std::vector<std::string> events_of(std::string_view text, std::size_t piece) {
  std::vector<std::string> events;
  SseReader reader(1000, [&](std::string_view data) {
    events.emplace_back(data);
    return base::ok();
  });
  for (std::size_t at = 0; at < text.size(); at += piece)
    EXPECT_TRUE(reader.feed(text.substr(at, piece)).ok());
  return events;
}

TEST(SseReader, GivesTheSameEventsWhereverTheBytesAreCut) {
  const std::string_view text =
      ": ping\n\ndata: {\"a\":1}\n\nevent: x\r\nid: 7\r\ndata:two\r\ndata: lines\r\n\r\ndata\n\ndata: "
      "[DONE]\n\ndata: half";
  const std::vector<std::string> expected{"{\"a\":1}", "two\nlines", "", "[DONE]"};
  for (std::size_t piece = 1; piece <= text.size(); piece++)
    EXPECT_EQ(events_of(text, piece), expected) << piece;
}

TEST(SseReader, RefusesAnEventWithoutEnd) {
  SseReader reader(100, [](std::string_view) { return base::ok(); });
  const auto status = reader.feed("data: " + std::string(200, 'x'));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, base::ErrorCode::too_large);
}

TEST(SseReader, RefusesEndlessLinesOfOneEvent) {
  SseReader reader(100, [](std::string_view) { return base::ok(); });
  base::Status status = base::ok();
  for (int i = 0; i < 50 && status.ok(); i++) status = reader.feed("data: 12345\n");
  EXPECT_FALSE(status.ok());
}

TEST(SseReader, PassesOnTheErrorOfItsReader) {
  SseReader reader(100, [](std::string_view) -> base::Status {
    return base::error(base::ErrorCode::cancelled, "enough");
  });
  const auto status = reader.feed("data: a\n\n");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, base::ErrorCode::cancelled);
}

}  // namespace
}  // namespace kvasir::net

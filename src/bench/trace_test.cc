#include "bench/trace.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kvasir::bench {
namespace {

TEST(Trace, ReadsTimesLengthsAndTexts) {
  const auto entries = parse_trace(
      "{\"timestamp\": 1000, \"input_length\": 6, \"output_length\": 3, \"hash_ids\": [1, 2]}\n"
      "\n"
      "{\"arrival_s\": 2.5, \"prompt\": \"Hello\", \"max_tokens\": 9}\r\n"
      "{\"arrival_s\": 2.5, \"messages\": [{\"role\": \"system\", \"content\": \"Be brief.\"}, "
      "{\"role\": \"user\", \"content\": \"Hi\"}]}");
  ASSERT_TRUE(entries.ok()) << entries.error().message;
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ((*entries)[0].arrival_s, 0);
  EXPECT_EQ((*entries)[0].output_tokens, 3);
  EXPECT_EQ((*entries)[1].arrival_s, 1.5);
  const Conversation second = conversation_of((*entries)[1], {}, 0, 1);
  EXPECT_EQ(second.turns[0].text, "Hello");
  EXPECT_EQ(second.turns[0].output_tokens, 9);
  const Conversation third = conversation_of((*entries)[2], {}, 0, 2);
  ASSERT_EQ(third.opening.size(), 1u);
  EXPECT_EQ(third.opening[0].content, "Be brief.");
  EXPECT_EQ(third.turns[0].text, "Hi");
}

TEST(Trace, SharesTextWhereHashesAgree) {
  const auto entries = parse_trace(
      "{\"input_length\": 1500, \"hash_ids\": [1, 2, 3]}\n"
      "{\"input_length\": 1500, \"hash_ids\": [1, 2, 4]}\n"
      "{\"input_length\": 1500}\n"
      "{\"input_length\": 1500}\n");
  ASSERT_TRUE(entries.ok()) << entries.error().message;
  const auto text = [&](std::size_t i) { return conversation_of((*entries)[i], {}, 9, i).turns[0].text; };
  const auto common = [](const std::string& a, const std::string& b) {
    return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  };
  EXPECT_GT(common(text(0), text(1)), 1024u * 3);
  EXPECT_LT(common(text(0), text(1)), text(0).size());
  EXPECT_LT(common(text(2), text(3)), 40u);
  EXPECT_FALSE((*entries)[0].arrival_s.has_value());
}

TEST(Trace, SaysWhichLineIsWrong) {
  const auto message = [](std::string_view text) {
    const auto entries = parse_trace(text);
    return entries.ok() ? std::string() : entries.error().message;
  };
  EXPECT_EQ(message("{\"prompt\": \"a\"}\n{\"prompt\": 1}\n"), "line 2: prompt: expected a string");
  EXPECT_NE(message("{\"prompt\": \"a\"").find("line 1: "), std::string::npos);
  EXPECT_NE(message("[]").find("expected an object"), std::string::npos);
  EXPECT_NE(message("{}").find("expected messages, prompt or input_length"), std::string::npos);
  EXPECT_NE(message("{\"input_length\": -1}").find("input_length"), std::string::npos);
  EXPECT_NE(message("{\"input_length\": 1e9}").find("input_length"), std::string::npos);
  EXPECT_NE(message("{\"messages\": []}").find("messages"), std::string::npos);
  EXPECT_NE(message("{\"input_length\": 1, \"hash_ids\": [\"x\"]}").find("hash_ids"), std::string::npos);
  EXPECT_NE(message("{\"prompt\": \"a\", \"arrival_s\": 2}\n{\"prompt\": \"a\", \"arrival_s\": 1}")
                .find("before the one before it"),
            std::string::npos);
  EXPECT_NE(message("{\"prompt\": \"a\", \"arrival_s\": 2}\n{\"prompt\": \"a\"}").find("all or none"),
            std::string::npos);
  EXPECT_EQ(message("\n"), "no entries");
}

}  // namespace
}  // namespace kvasir::bench

#include "base/json.h"

#include <gtest/gtest.h>

#include <string>

namespace kvasir::base {
namespace {

TEST(ParseJson, ReadsAValue) {
  auto value = parse_json(R"({"a":[1,2.5,"x"]})");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->at("a").as_array().size(), 3u);
}

TEST(ParseJson, NamesWhatIsWrong) {
  for (const char* text : {"", "{", "{} x", "[1,]", "\"\xff\"", "nul"}) {
    auto value = parse_json(text);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_EQ(value.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(value.error().message.find("at byte"), std::string::npos);
  }
}

TEST(ParseJson, SaysThatABodyIsNotUtf8) {
  EXPECT_EQ(parse_json("{\"a\":\"\xff\"}").error().message, "not valid UTF-8 (at byte 6)");
}

TEST(ParseJson, StopsAtTheDepthLimit) {
  const std::string deep(10'000'000, '[');
  auto value = parse_json(deep, {.max_depth = 64});
  ASSERT_FALSE(value.ok());
  EXPECT_NE(value.error().message.find("deeper than 64"), std::string::npos);
}

}  // namespace
}  // namespace kvasir::base

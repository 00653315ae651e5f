#include "base/json.h"

#include <gtest/gtest.h>

#include <limits>
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

TEST(ParseJson, NamesALoneSurrogate) {
  for (const char* text : {R"(["\ud800"])", R"(["\ud800x"])", R"(["\ud800\u0041"])", R"(["\udc00"])"})
    EXPECT_NE(parse_json(text).error().message.find("lone surrogate"), std::string::npos)
        << parse_json(text).error().message;
  EXPECT_TRUE(parse_json(R"(["\ud83d\ude00"])").ok());
}

TEST(JsonText, ComesBackAsItWas) {
  const char* text =
      R"({"a":[1,-2,18446744073709551615,-1.5,0.1,1e+300,-9999.0,true,false,null],"b":{},"c":[]})";
  EXPECT_EQ(json_text(parse_json(text).value()), text);
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  all += "é ✓ 😀";
  const json::value value = json::object{{all, all}};
  EXPECT_EQ(parse_json(json_text(value)).value(), value);
  EXPECT_EQ(json_text(json::value(std::numeric_limits<double>::infinity())), "null");
}

TEST(ParseJson, StopsAtTheDepthLimit) {
  const std::string deep(10'000'000, '[');
  auto value = parse_json(deep, {.max_depth = 64});
  ASSERT_FALSE(value.ok());
  EXPECT_NE(value.error().message.find("deeper than 64"), std::string::npos);
}

}  // namespace
}  // namespace kvasir::base

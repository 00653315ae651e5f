#include "base/unique_json.h"

#include <gtest/gtest.h>

namespace kvasir::base {
namespace {

TEST(UniqueJson, NamesAKeyThatIsThereTwice) {
  for (const char* text : {R"({"a": 1, "b": 2, "a": 1})", R"([{"x": {"a": [], "a" : {}}}])",
                           R"({"b": {"a": 1, "c": "\\", "a": ":"}})"}) {
    const auto value = parse_unique_json(text);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_EQ(value.error().reason, "duplicate_key");
    EXPECT_EQ(value.error().message, "an object has the key \"a\" twice");
    EXPECT_TRUE(parse_json(text).ok());
  }
  EXPECT_EQ(parse_unique_json(R"({"a": 1, "\u0061": 2})").error().reason, "duplicate_key");
  for (const char* text :
       {"1", "[]", R"({"a": {"a": {"a": ":"}}, "b": [{"a": 1}, {"a": 1}], "\\": "\":\\", "c:": ":"})",
        R"({"": "", "a\"": 1, "a": "{\"a\": 1, \"a\": 2}"})"})
    EXPECT_TRUE(parse_unique_json(text).ok()) << text;
}

}  // namespace
}  // namespace kvasir::base

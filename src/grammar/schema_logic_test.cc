// Schemas that are put together from others: allOf, anyOf, oneOf, not, conditions and references.
#include <gtest/gtest.h>

#include <string>

#include "grammar/schema_taker_test.h"

namespace kvasir::grammar {
namespace {

TEST(JsonSchema, CombinedSchemas) {
  Schema all(R"({"allOf":[{"type":"object","properties":{"a":{"type":"integer"}}},
                          {"properties":{"a":{"minimum":5},"b":{"type":"null"}},"required":["a"],
                           "additionalProperties":false}]})");
  EXPECT_TRUE(all.takes(R"({"a":5,"b":null})"));
  EXPECT_FALSE(all.takes(R"({"a":4})"));
  EXPECT_FALSE(all.takes(R"({"a":5,"c":1})"));
  Schema any(
      R"({"type":"object","properties":{"x":{}},"anyOf":[{"required":["x"]},{"properties":{"y":{"const":1}},
                "required":["y"]}],"additionalProperties":true})");
  EXPECT_TRUE(any.takes(R"({"x":1})"));
  EXPECT_TRUE(any.takes(R"({"y":1})"));
  EXPECT_FALSE(any.takes(R"({"z":1})"));
  Schema one(R"({"oneOf":[{"type":"object","properties":{"kind":{"const":"a"}},"required":["kind"]},
                          {"type":"object","properties":{"kind":{"const":"b"}},"required":["kind"]},{"type":"null"}]})");
  EXPECT_TRUE(one.takes(R"({"kind":"b"})"));
  EXPECT_TRUE(one.takes("null"));
  // Many validators treat formats as annotations, so a value that is not of a format cannot be described.
  Schema overlap(
      R"({"properties":{"p":{"type":"string","oneOf":[{"format":"ipv4"},{"format":"hostname"}]}}})");
  EXPECT_EQ(overlap.error().code, base::ErrorCode::unsupported);
  EXPECT_EQ(overlap.error().field, "#/properties/p/oneOf");
}

TEST(JsonSchema, BranchesOfOneOfThatOverlapAreNarrowed) {
  const auto check = [](const char* schema, std::vector<const char*> good, std::vector<const char*> bad) {
    Schema s(schema);
    for (const char* text : good) EXPECT_TRUE(s.takes(text)) << schema << " " << text;
    for (const char* text : bad) EXPECT_FALSE(s.takes(text)) << schema << " " << text;
  };
  check(R"({"enum":["a","b",1],"oneOf":[{"type":"string"},{"type":"integer"}]})", {R"("a")", R"("b")", "1"},
        {"2", R"("c")"});
  check(R"({"oneOf":[{"type":"integer"},{"minimum":3}]})", {"2", "-5", R"("x")"}, {"3", "4"});
  check(R"({"type":"object","properties":{"a":{"const":1},"b":{"const":2}},"additionalProperties":false,
            "oneOf":[{"required":["a"]},{"required":["b"]}]})",
        {R"({"a":1})", R"({"b":2})"}, {R"({"a":1,"b":2})", "{}"});
  check(R"({"oneOf":[{"type":"string"},{"type":"string","enum":["x","y"]},{"type":"null"}]})",
        {R"("xy")", R"("")", "null"}, {R"("x")", R"("y")"});
  check(R"({"oneOf":[{"type":"string","pattern":"^a"},{"type":"string","pattern":"z$"}]})",
        {R"("ab")", R"("bz")"}, {R"("az")", R"("b")"});
}

TEST(JsonSchema, NotIsExcludedWhereItCanBe) {
  const auto check = [](const char* schema, std::vector<const char*> good, std::vector<const char*> bad) {
    Schema s(schema);
    for (const char* text : good) EXPECT_TRUE(s.takes(text)) << schema << " " << text;
    for (const char* text : bad) EXPECT_FALSE(s.takes(text)) << schema << " " << text;
  };
  check(R"({"type":"integer","not":{"minimum":3}})", {"2", "-1"}, {"3", "10"});
  check(R"({"type":"string","not":{"enum":["a","b"]}})", {R"("c")", R"("ab")"}, {R"("a")", R"("b")", "1"});
  check(R"({"type":"string","not":{"pattern":"^x"}})", {R"("ax")", R"("")"}, {R"("x")", R"("xa")"});
  check(R"({"type":"boolean","not":{"const":true}})", {"false"}, {"true"});
  check(R"({"type":"object","properties":{"a":{"const":1},"b":{"const":1}},"additionalProperties":false,
            "not":{"required":["a","b"]}})",
        {R"({"a":1})", R"({"b":1})", "{}"}, {R"({"a":1,"b":1})"});
  check(R"({"not":{"anyOf":[{"type":"string"},{"type":"array"},{"type":"object"}]}})", {"1", "null"},
        {R"("a")", "[]", "{}"});
  check(R"({"not":{"not":{"type":"null"}}})", {"null"}, {"1"});
  check(R"({"not":{"$ref":"#/$defs/s"},"$defs":{"s":{"type":["string","number"]}}})", {"null"},
        {"1", R"("a")"});
}

TEST(JsonSchema, KeywordsOfItsOwnAreHarmlessInARequest) {
  EXPECT_TRUE(
      Schema(R"({"type":"string","\u0001not strings":1,"\u0001not patterns":{"a":1}})").takes(R"("a")"));
  EXPECT_TRUE(
      Schema(R"({"type":"string","\u0001not strings":[1],"\u0001not patterns":[null]})").takes(R"("a")"));
}

TEST(JsonSchema, ConditionsAndDependencies) {
  const char* const kKind =
      R"({"type":"object","properties":{"kind":{"enum":["a","b"]},"n":{"type":"integer"}},
    "required":["kind"],"additionalProperties":false,"if":{"properties":{"kind":{"const":"a"}}},
    "then":{"required":["n"]},"else":{"properties":{"n":false}}})";
  Schema condition(kKind);
  EXPECT_TRUE(condition.takes(R"({"kind":"a","n":1})"));
  EXPECT_TRUE(condition.takes(R"({"kind":"b"})"));
  EXPECT_FALSE(condition.takes(R"({"kind":"a"})"));
  EXPECT_FALSE(condition.takes(R"({"kind":"b","n":1})"));
  for (const char* keyword : {"dependencies", "dependentRequired"}) {
    Schema s(fmt::format(R"({{"type":"object","properties":{{"a":{{}},"b":{{}}}},"{}":{{"a":["b"]}},
                             "additionalProperties":false}})",
                         keyword));
    EXPECT_TRUE(s.takes(R"({"a":1,"b":1})"));
    EXPECT_TRUE(s.takes(R"({"b":1})"));
    EXPECT_TRUE(s.takes("{}"));
    EXPECT_FALSE(s.takes(R"({"a":1})"));
  }
  Schema schemas(R"({"type":"object","properties":{"a":{},"b":{}},"additionalProperties":false,
                     "dependentSchemas":{"a":{"properties":{"b":{"type":"null"}}}}})");
  EXPECT_TRUE(schemas.takes(R"({"b":1})"));
  EXPECT_TRUE(schemas.takes(R"({"a":1,"b":null})"));
  EXPECT_FALSE(schemas.takes(R"({"a":1,"b":1})"));
}

TEST(JsonSchema, ReferencesAndRecursion) {
  Schema s(R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},
      "kids":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["v"],"additionalProperties":false}}})");
  EXPECT_TRUE(s.takes(R"({"v":1,"kids":[{"v":2},{"v":3,"kids":[]}]})"));
  EXPECT_FALSE(s.takes(R"({"v":1,"kids":[{}]})"));
  Schema pointer(R"({"properties":{"a/b":{"type":"null"},"c":{"$ref":"#/properties/a~1b"}},"required":["c"],
                     "type":"object"})");
  EXPECT_TRUE(pointer.takes(R"({"c":null})"));
  EXPECT_FALSE(pointer.takes(R"({"c":1})"));
  EXPECT_EQ(Schema(R"({"$ref":"#/$defs/gone"})").error().field, "#/$ref");
  EXPECT_EQ(Schema(R"({"$ref":"https://example.com/s"})").error().code, base::ErrorCode::unsupported);
  EXPECT_FALSE(Schema(R"({"$ref":"#"})").error().message.empty());
  // A value of this schema would never end.
  EXPECT_EQ(Schema(R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})").error().message,
            "the grammar matches nothing");
  // One branch never ends, but the other does.
  Schema list(
      R"({"anyOf":[{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]},{"const":0}]})");
  EXPECT_TRUE(list.takes(R"({"a":{"a":0}})"));
}

}  // namespace
}  // namespace kvasir::grammar

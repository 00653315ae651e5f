#include "grammar/json_schema.h"

#include <gtest/gtest.h>

#include <string>

#include "grammar/schema_taker_test.h"

namespace kvasir::grammar {
namespace {

TEST(JsonSchema, ObjectsInDeclaredOrderWithOptionalOnes) {
  Schema s(
      R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"},"c":{"type":"null"}},
               "required":["a","c"],"additionalProperties":false})");
  EXPECT_TRUE(s.takes(R"({"a":1,"b":"x","c":null})"));
  EXPECT_TRUE(s.takes(R"({"a": 1, "c": null})"));
  EXPECT_TRUE(s.takes("{ \"a\": 1,\n\"c\":null }"));
  EXPECT_FALSE(s.takes(R"({"b":"x","a":1,"c":null})"));
  EXPECT_FALSE(s.takes(R"({"a":1})"));
  EXPECT_FALSE(s.takes(R"({"a":1,"c":null,"d":1})"));
  EXPECT_FALSE(s.takes(R"({"a":1,"c":null,})"));
  EXPECT_FALSE(s.takes(R"({"a":   1,"c":null})"));  // more blanks than allowed
  EXPECT_FALSE(s.takes(R"({})"));
}

TEST(JsonSchema, AllOptional) {
  Schema s(R"({"type":"object","properties":{"a":{},"b":{}},"additionalProperties":false})");
  EXPECT_TRUE(s.takes("{}"));
  EXPECT_TRUE(s.takes(R"({"b":[1,{"x":"y"}]})"));
  EXPECT_TRUE(s.takes(R"({"a":1,"b":true})"));
  EXPECT_FALSE(s.takes(R"({,"b":1})"));
}

TEST(JsonSchema, UndeclaredPropertiesComeLastAndHaveOtherNames) {
  Schema s(
      R"({"type":"object","properties":{"ab":{"type":"integer"}},"additionalProperties":{"type":"string"}})");
  EXPECT_TRUE(s.takes(R"({"ab":1,"x":"y","abc":"z"})"));
  EXPECT_TRUE(s.takes(R"({"a":"y"})"));
  EXPECT_TRUE(s.takes(R"({"":"y"})"));
  EXPECT_FALSE(s.takes(R"({"ab":"y"})"));
  EXPECT_FALSE(s.takes(R"({"x":1})"));
  EXPECT_FALSE(s.takes(R"({"x":"y","ab":1})"));
}

TEST(JsonSchema, PatternProperties) {
  Schema s(
      R"({"type":"object","patternProperties":{"^n_":{"type":"integer"},"_s$":{"type":["integer","string"]}},
               "additionalProperties":false})");
  EXPECT_TRUE(s.takes(R"({"n_a":1,"b_s":"x"})"));
  EXPECT_TRUE(s.takes(R"({"n_s":1})"));
  EXPECT_FALSE(s.takes(R"({"n_s":"x"})"));
  EXPECT_FALSE(s.takes(R"({"other":1})"));
}

TEST(JsonSchema, KeysOfEveryClassWithTheSameSchemaNeedNoPattern) {
  const auto states_of = [](std::string_view text) {
    return (*Automaton::build(*grammar_of_json_schema(*base::parse_json(text))))->num_states();
  };
  EXPECT_EQ(states_of(R"({"type":"object","patternProperties":{"^.{1,255}$":{}}})"),
            states_of(R"({"type":"object"})"));
  Schema closed(
      R"({"type":"object","patternProperties":{"^.{1,255}$":{"type":"null"}},"additionalProperties":false})");
  EXPECT_TRUE(closed.takes(R"({"a":null})"));
  EXPECT_FALSE(closed.takes(R"({"":null})"));
  EXPECT_FALSE(closed.takes(fmt::format(R"({{"{}":null}})", std::string(256, 'a'))));
  // The name is a count of one loop, rather than 255 states.
  EXPECT_LT(
      states_of(R"({"type":"object","patternProperties":{"^.{1,255}$":{}},"additionalProperties":false})"),
      400);
}

TEST(JsonSchema, NumbersOfProperties) {
  Schema s(R"({"type":"object","properties":{"a":{"const":1},"b":{"const":1},"c":{"const":1}},
               "minProperties":1,"maxProperties":2,"additionalProperties":false})");
  EXPECT_FALSE(s.takes("{}"));
  EXPECT_TRUE(s.takes(R"({"b":1})"));
  EXPECT_TRUE(s.takes(R"({"a":1,"c":1})"));
  EXPECT_FALSE(s.takes(R"({"a":1,"b":1,"c":1})"));
  Schema open(R"({"type":"object","properties":{"a":{"const":1}},"minProperties":2,"maxProperties":3})");
  EXPECT_TRUE(open.takes(R"({"a":1,"x":2})"));
  EXPECT_FALSE(open.takes(R"({"a":1})"));
  EXPECT_FALSE(open.takes(R"({"x":1,"x":2})"));  // a repeated key would be one property
  EXPECT_FALSE(open.takes(R"({"a":1,"x":2,"y":2,"z":2})"));
  Schema repeated(R"({"type":"object","minProperties":3})");
  EXPECT_EQ(repeated.error().code, base::ErrorCode::unsupported);
  EXPECT_EQ(repeated.error().field, "#/minProperties");
}

TEST(JsonSchema, Arrays) {
  Schema s(R"({"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":3})");
  EXPECT_FALSE(s.takes("[]"));
  EXPECT_FALSE(s.takes("[1]"));
  EXPECT_TRUE(s.takes("[1,2]"));
  EXPECT_TRUE(s.takes("[1, 2, 3 ]"));
  EXPECT_FALSE(s.takes("[1,2,3,4]"));
  Schema tuple(
      R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":{"type":"null"}})");
  EXPECT_TRUE(tuple.takes("[]"));
  EXPECT_TRUE(tuple.takes("[1]"));
  EXPECT_TRUE(tuple.takes(R"([1,"x",null,null])"));
  EXPECT_FALSE(tuple.takes(R"(["x"])"));
  Schema closed(R"({"type":"array","prefixItems":[{"type":"integer"}],"items":false,"minItems":1})");
  EXPECT_TRUE(closed.takes("[1]"));
  EXPECT_FALSE(closed.takes("[1,2]"));
  Schema old(R"({"type":"array","items":[{"type":"integer"}],"additionalItems":{"type":"null"}})");
  EXPECT_TRUE(old.takes("[1,null]"));
  EXPECT_FALSE(old.takes("[1,2]"));
}

TEST(JsonSchema, Strings) {
  Schema length(R"({"type":"string","minLength":2,"maxLength":3})");
  EXPECT_TRUE(length.takes(R"("ab")"));
  EXPECT_TRUE(length.takes("\"\xF0\x9F\x98\x80\xC3\xA9\""));
  EXPECT_TRUE(length.takes(R"("\ud83d\ude00\n")"));  // a surrogate pair is one character
  EXPECT_FALSE(length.takes(R"("a")"));
  EXPECT_FALSE(length.takes(R"("abcd")"));
  Schema any(R"({"type":"string"})");
  EXPECT_FALSE(any.takes(R"("\ud83d")"));
  EXPECT_FALSE(any.takes("\"\n\""));
  EXPECT_FALSE(any.takes("\"\xFF\""));
  EXPECT_FALSE(any.takes(R"("\x41")"));
  Schema pattern(R"({"type":"string","pattern":"^[a-z]+\"$"})");
  EXPECT_TRUE(pattern.takes(R"("ab\"")"));
  EXPECT_FALSE(pattern.takes(R"("ab")"));
  Schema both(R"({"type":"string","pattern":"^[a-z]+$","maxLength":3})");
  EXPECT_TRUE(both.takes(R"("abc")"));
  EXPECT_FALSE(both.takes(R"("abcd")"));
}

TEST(JsonSchema, LookAheadAtTheBeginningOfAPattern) {
  Schema s(R"x({"type":"string","pattern":"^(?!tmp|x\\))(?=.*[0-9])[a-z0-9]+$"})x");
  EXPECT_TRUE(s.takes(R"("a1")"));
  EXPECT_FALSE(s.takes(R"("ab")"));
  EXPECT_FALSE(s.takes(R"("tmp1")"));
  EXPECT_FALSE(s.takes(R"("1_")"));
  Schema only(R"x({"type":"string","pattern":"^(?!$)"})x");
  EXPECT_TRUE(only.takes(R"("a")"));
  EXPECT_FALSE(only.takes(R"("")"));
}

TEST(JsonSchema, NamesOfProperties) {
  Schema s(R"({"type":"object","propertyNames":{"enum":["a","b.c"]},"additionalProperties":{"const":1}})");
  EXPECT_TRUE(s.takes(R"({"b.c":1,"a":1})"));
  EXPECT_FALSE(s.takes(R"({"bxc":1})"));
  Schema dates(R"({"type":"object","propertyNames":{"format":"date"}})");
  EXPECT_TRUE(dates.takes(R"({"2024-02-29":1})"));
  EXPECT_FALSE(dates.takes(R"({"x":1})"));
}

TEST(JsonSchema, Formats) {
  const auto check = [](const char* format, std::vector<const char*> good, std::vector<const char*> bad) {
    Schema s(fmt::format(R"({{"type":"string","format":"{}"}})", format));
    for (const char* text : good) EXPECT_TRUE(s.takes(fmt::format("\"{}\"", text))) << format << " " << text;
    for (const char* text : bad) EXPECT_FALSE(s.takes(fmt::format("\"{}\"", text))) << format << " " << text;
  };
  check("date", {"2024-02-29", "2023-12-31", "2000-02-29"},
        {"2023-02-29", "1900-02-29", "2023-13-01", "2023-04-31"});
  check("time", {"23:59:59Z", "00:00:00.123+02:00"}, {"24:00:00Z", "12:00:00"});
  check("date-time", {"2024-01-01T00:00:00Z", "2024-01-01T00:00:00.123456789Z"}, {"2024-01-01 00:00:00Z"});
  check("email",
        {"joe.doe+x@example.com", "a.very.long.name.of.a.person.in.a.large.organisation@mail.example.co.uk"},
        {"joe", "joe@", "@x.com", "joe@localhost", "a..b@x.com"});
  check("uuid", {"123e4567-e89b-12d3-a456-426614174000"}, {"123e4567e89b12d3a456426614174000"});
  check("ipv4", {"0.0.0.0", "255.249.199.99"}, {"256.0.0.1", "1.2.3", "01.2.3.4"});
  check("ipv6", {"::", "::1", "1:2:3:4:5:6:7:8", "fe80::1:2", "1::", "1:2:3:4:5:6:7::"},
        {":::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "12345::", "1::2::3"});
  check("uri",
        {"https://example.com/a/b?c=d#e", "ftp://x:21", "https://raw.githubusercontent.com/a/b/main/c.json",
         "http://localhost:30000/x", "https://h/a%2fb", "mailto:joe@example.com", "urn:isbn:0451450523",
         "https://a.b.c.d.e.f/", "https://u:p@h", "file:///etc/x", "tel:+1-816-555-1212"},
        {"example.com", "http:/x", "http://a b", "http://h:65536", "http://h:70000/", "a%2", "http://h/%zz",
         ":x"});
  check("uri-reference",
        {"https://example.com", "/a/b", "a/b?c#d", "../x", "#frag", "", "?q=1", "//host/x", "a%20b",
         "mailto:x"},
        {"a b", "%", "1:x", "<"});
  check("iri", {"https://example.com/größe"}, {"größe"});
  check("json-pointer", {"", "/a/~0~1/0"}, {"a", "/~2"});
  check("relative-json-pointer", {"0", "1/a", "2#"}, {"/a", "01", "-1"});
  check("hostname", {"example.com", "a-b.c", "one.two.three.four.five.six.example.com"},
        {"-a.com", "a..b", "a_b"});
}

TEST(JsonSchema, NumberRanges) {
  const auto check = [](const char* keywords, std::vector<const char*> good, std::vector<const char*> bad) {
    Schema s(fmt::format("{{{}}}", keywords));
    for (const char* text : good) EXPECT_TRUE(s.takes(text)) << keywords << " " << text;
    for (const char* text : bad) EXPECT_FALSE(s.takes(text)) << keywords << " " << text;
  };
  check(R"("type":"integer")", {"0", "-5", "120"}, {"01", "1.0", "+1", "-", "1e3"});
  check(R"("type":"number")", {"0", "-0.5", "1e10", "1.25E-3"}, {".5", "1.", "00", "1e", "1e999"});
  check(R"("type":"integer","minimum":-12,"maximum":105)", {"-12", "-9", "0", "99", "100", "105"},
        {"-13", "106", "110", "200", "-0", "1000"});
  check(R"("type":"integer","exclusiveMinimum":0)", {"1", "10", "99999"}, {"0", "-1"});
  check(R"("type":"integer","minimum":0,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false)",
        {"1", "9"}, {"0", "10"});
  check(R"("type":"integer","minimum":1.5,"maximum":3.9)", {"2", "3"}, {"1", "4"});
  check(R"("type":"integer","maximum":-3)", {"-3", "-30"}, {"-2", "0", "3"});
  check(R"("type":"number","minimum":0.5,"exclusiveMaximum":2.25)",
        {"0.5", "0.50", "1", "2", "2.24", "2.2499", "0.51", "1.99"},
        {"0.4", "0", "2.25", "2.250", "2.3", "3", "0.49"});
  check(R"("type":"number","exclusiveMinimum":1,"maximum":1.5)", {"1.1", "1.001", "1.5", "1.500"},
        {"1", "1.0", "1.51", "0.9"});
  check(R"("type":"number","minimum":-1.5,"maximum":-0.25)", {"-1", "-1.5", "-0.25", "-0.3"},
        {"-1.51", "-0.2", "0", "1", "-2"});
  check(R"("type":"integer","multipleOf":7)", {"0", "7", "-14", "700", "77"}, {"1", "-8", "07"});
  check(R"("type":"integer","multipleOf":5,"minimum":0)", {"0", "5", "100"}, {"-5", "1"});
  check(R"("type":"integer","multipleOf":5,"minimum":-7,"maximum":12)", {"-5", "0", "10"},
        {"-10", "15", "1"});
  check(R"("type":"number","multipleOf":0.25)", {"0", "0.25", "1.5", "2.75", "-3", "1.50"},
        {"0.1", "1.3", "0.255"});
  EXPECT_EQ(Schema(R"({"type":"number","multipleOf":0.1,"minimum":3})").error().field, "#/multipleOf");
}

TEST(JsonSchema, ValuesAndTypes) {
  Schema s(R"({"enum":["a",1,null,[1,{"k":"v"}],2.5,true]})");
  for (const char* text : {R"("a")", "1", "null", R"([1,{"k":"v"}])", R"([ 1, {"k": "v"}])", "2.5", "true"}) {
    EXPECT_TRUE(s.takes(text)) << text;
  }
  EXPECT_FALSE(s.takes("false"));
  Schema whole(R"({"type":"integer","enum":[1.0,2.5,3]})");  // 1.0 is an integer, and is written as 1
  EXPECT_TRUE(whole.takes("1"));
  EXPECT_TRUE(whole.takes("3"));
  EXPECT_FALSE(whole.takes("2.5"));
  EXPECT_TRUE(Schema(R"({"type":"integer","const":1.0,"minimum":1.0,"multipleOf":1.0})").takes("1"));
  EXPECT_TRUE(
      Schema(R"({"type":"array","minItems":1.0,"items":{"type":"integer","maximum":2.0}})").takes("[2]"));
  Schema filtered(R"({"type":"string","enum":["a",1,"bb"],"minLength":2})");
  EXPECT_TRUE(filtered.takes(R"("bb")"));
  EXPECT_FALSE(filtered.takes(R"("a")"));
  EXPECT_FALSE(filtered.takes("1"));
  Schema types(R"({"type":["integer","null"]})");
  EXPECT_TRUE(types.takes("null"));
  EXPECT_FALSE(types.takes("1.5"));
  Schema nullable(R"({"type":"string","nullable":true})");
  EXPECT_TRUE(nullable.takes("null"));
  Schema not_string(R"({"not":{"type":["string","object"]}})");
  EXPECT_TRUE(not_string.takes("[1]"));
  EXPECT_FALSE(not_string.takes("\"a\""));
  Schema untyped(R"({"minLength":2})");
  EXPECT_TRUE(untyped.takes("1"));
  EXPECT_FALSE(untyped.takes("\"a\""));
}

TEST(JsonSchema, WhatIsNotEnforcedIsNamedWithItsPath) {
  const auto field_of = [](std::string_view schema) { return Schema(schema).error().field; };
  EXPECT_EQ(field_of(R"({"properties":{"x":{"not":{"multipleOf":3}}}})"), "#/properties/x/not");
  EXPECT_EQ(field_of(R"({"contains":{}})"), "#/contains");
  EXPECT_EQ(field_of(R"({"unevaluatedProperties":false})"), "#/unevaluatedProperties");
  EXPECT_EQ(field_of(R"x({"type":"string","pattern":"a(?=b)"})x"), "#/pattern");
  EXPECT_EQ(field_of(R"({"anyOf":[{"type":"text"}]})"), "#/anyOf/0/type");
  EXPECT_TRUE(
      Schema(R"({"title":"t","description":"d","default":1,"x-own":2,"uniqueItems":false})").takes("1"));
}

TEST(JsonSchema, WhatIsIgnoredIsNoted) {
  const auto notes_of = [](std::string_view text) {
    std::vector<std::string> lines;
    const auto grammar = grammar_of_json_schema(*base::parse_json(text));
    for (const Note& note : grammar->notes())
      lines.push_back(fmt::format("{} {} {}", note.path, note.num_places, note.what));
    return lines;
  };
  using Lines = std::vector<std::string>;
  EXPECT_EQ(notes_of(R"({"minlength":3,"properties":{"a":{"minlength":1}}})"),
            Lines{"#/minlength 2 'minlength' is not a keyword of JSON Schema and is ignored"});
  EXPECT_EQ(notes_of(R"({"type":"string","format":"telephone"})"),
            Lines{"#/format 1 the format 'telephone' is unknown and ignored"});
  EXPECT_EQ(notes_of(R"({"type":"array","uniqueItems":true})"),
            Lines{"#/uniqueItems 1 'uniqueItems' is not enforced"});
  EXPECT_EQ(notes_of(R"({"type":"integer","format":"int32","x-own":1,"uniqueItems":false,"title":"t"})"),
            Lines{});
  EXPECT_EQ(notes_of(R"({"type":"array","uniqueItems":true,"maxItems":1})"), Lines{});
}

TEST(JsonSchema, DifferentItems) {
  Schema s(R"({"type":"array","items":{"enum":["a","b",1,1.0]},"uniqueItems":true,"minItems":1})");
  for (const char* text : {R"(["a"])", R"(["b","a"])", R"([1, "b", "a" ])"})
    EXPECT_TRUE(s.takes(text)) << text;
  for (const char* text : {"[]", R"(["a","a"])", R"(["a","b","a"])", "[1,1]", R"(["c"])"})
    EXPECT_FALSE(s.takes(text)) << text;
  Schema many(R"({"type":"array","items":{"enum":[1,2,3,4,5,6,7,8,9]},"uniqueItems":true})");
  EXPECT_TRUE(many.takes("[9,8,7,6,5,4,3,2,1]"));
  EXPECT_FALSE(many.takes("[1,2,3,4,5,6,7,8,9,1]"));  // more than there are values
}

TEST(JsonSchema, JsonObject) {
  auto grammar = grammar_of_json_object();
  ASSERT_TRUE(grammar.ok());
  auto automaton = Automaton::build(*grammar);
  Pushdown pushdown(*automaton, {});
  const auto takes = [&](std::string_view text) {
    pushdown.set_work(1'000'000);
    ConfigId c = pushdown.start();
    for (const char b : text) c = pushdown.step(c, static_cast<std::uint8_t>(b));
    return pushdown.is_complete(c);
  };
  EXPECT_TRUE(takes(R"({"a": [1, 2.5e3, {"b": null}], "c": {}})"));
  EXPECT_FALSE(takes("[1]"));
  EXPECT_FALSE(takes(R"({"a": [1, 2)"));
}

}  // namespace
}  // namespace kvasir::grammar

#include <gtest/gtest.h>

#include <string>

#include "text/tokenizer/tokenizer.h"

namespace kvasir::text {
namespace {

using Pieces = std::vector<std::string>;

// A small tokenizer.json; `Ġ` is the byte-level spelling of a space.
std::string file(const std::string& model_extra = "",
                 const std::string& pre_tokenizer = R"({"type":"ByteLevel","add_prefix_space":false})") {
  return R"({"added_tokens":[
      {"id":9,"content":"<|end|>","special":true},
      {"id":12,"content":"<tool>","special":false},
      {"id":10,"content":"<|x|>","special":true,"lstrip":true,"rstrip":true}],
    "normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"}]},
    "pre_tokenizer":)" +
         pre_tokenizer + R"(,
    "post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<|end|>","type_id":0}},
      {"Sequence":{"id":"A","type_id":0}}]},
    "model":{"type":"BPE",)" +
         model_extra + R"("vocab":{"a":0,"b":1,"Ġ":2,"ab":3,"Ġa":4,"abb":5,"1":6,"Ã":7,"©":8,"Ã©":11},
    "merges":["a b",["Ġ","a"],"Ã ©"]}})";
}

std::shared_ptr<const Tokenizer> load(const std::string& json) {
  auto tokenizer = Tokenizer::from_json(json);
  CHECK(tokenizer.ok(), "{}", tokenizer.error().message);
  return *tokenizer;
}

Pieces pieces(const Tokenizer& tokenizer, std::string_view text) {
  Pieces bytes;
  for (const TokenId id : tokenizer.encode(text, Specials::parse)) bytes.emplace_back(tokenizer.bytes(id));
  return bytes;
}

TEST(TokenizerJson, ReadsAByteLevelModel) {
  const auto tokenizer = load(file());
  EXPECT_EQ(tokenizer->size(), 13);
  EXPECT_EQ(pieces(*tokenizer, "ab ab"), (Pieces{"ab", " ", "ab"}));
  EXPECT_EQ(pieces(*tokenizer, " a"), Pieces{" a"});
  EXPECT_EQ(pieces(*tokenizer, "abb"), (Pieces{"ab", "b"}));
  EXPECT_EQ(pieces(*tokenizer, "e\u0301\u00E9"), (Pieces{"\u00E9", "\u00E9"}));  // NFC
  EXPECT_EQ(pieces(*tokenizer, "a?b"), (Pieces{"a", "b"}));                      // no token spells "?"
  EXPECT_EQ(tokenizer->bos(), 9);
  EXPECT_TRUE(tokenizer->add_bos());
  EXPECT_TRUE(tokenizer->is_special(9));
  EXPECT_FALSE(tokenizer->is_special(12));
}

TEST(TokenizerJson, TakesWholeWordsWhereMergesAreIgnored) {
  EXPECT_EQ(pieces(*load(file(R"("ignore_merges":true,)")), "abb a"), (Pieces{"abb", " a"}));
}

TEST(TokenizerJson, SpecialTokensMayTakeTheSpaceAroundThem) {
  EXPECT_EQ(pieces(*load(file()), "a <|x|>  b<tool>a"), (Pieces{"a", "<|x|>", "b", "<tool>", "a"}));
}

TEST(TokenizerJson, ReadsPreTokenizers) {
  const auto tokenizer = load(file("", R"({"type":"Sequence","pretokenizers":[
      {"type":"Digits","individual_digits":true},
      {"type":"Split","pattern":{"String":"b"},"behavior":"MergedWithPrevious","invert":false},
      {"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]})"));
  EXPECT_EQ(pieces(*tokenizer, "abab11"), (Pieces{"ab", "ab", "1", "1"}));
}

TEST(TokenizerJson, ReadsTheConfig) {
  const auto tokenizer =
      Tokenizer::from_json(file(), R"({"bos_token":{"content":"<|x|>"},"eos_token":"<|end|>",
      "add_bos_token":false,"chat_template":[{"name":"tool_use","template":"no"},{"name":"default","template":"yes"}]})");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->bos(), 10);
  EXPECT_EQ((*tokenizer)->eos(), 9);
  EXPECT_FALSE((*tokenizer)->add_bos());
  EXPECT_EQ((*tokenizer)->chat_template(), "yes");
}

TEST(TokenizerJson, SaysWhatIsWrong) {
  const auto message = [](const std::string& json) {
    const auto tokenizer = Tokenizer::from_json(json);
    return tokenizer.ok() ? std::string("ok") : tokenizer.error().message;
  };
  const auto changed = [](const std::string& from, const std::string& to) {
    std::string json = file();
    const std::size_t at = json.find(from);
    CHECK(at != std::string::npos);
    return json.replace(at, from.size(), to);
  };
  EXPECT_EQ(message(file()), "ok");
  EXPECT_NE(message("{").find("not valid JSON"), std::string::npos);
  EXPECT_NE(message("[]").find("not an object"), std::string::npos);
  EXPECT_NE(message("{}").find("no model"), std::string::npos);
  EXPECT_NE(message(changed(R"("type":"BPE")", R"("type":"WordLevel")")).find("WordLevel"),
            std::string::npos);
  EXPECT_NE(message(changed(R"("ab":3)", R"("ab":1)")).find("have the id 1"), std::string::npos);
  EXPECT_NE(message(changed(R"("ab":3)", R"("ab":-1)")).find("not a token number"), std::string::npos);
  EXPECT_NE(message(changed(R"("ab":3)", R"("ab":99999999)")).find("not a token number"), std::string::npos);
  EXPECT_NE(message(changed(R"("ab":3,)", "")).find("no token of the vocabulary"), std::string::npos);
  EXPECT_NE(message(changed(R"("a b",)", R"("ab",)")).find("not two tokens"), std::string::npos);
  EXPECT_NE(message(changed(R"("NFC")", R"("NFX")")).find("NFX"), std::string::npos);
  EXPECT_NE(message(file("", R"({"type":"UnicodeScripts"})")).find("UnicodeScripts"), std::string::npos);
  EXPECT_NE(message(file(R"("end_of_word_suffix":"</w>",)")).find("end_of_word_suffix"), std::string::npos);
  EXPECT_NE(
      message(changed(R"({"id":"<|end|>","type_id":0})", R"({"id":"<none>","type_id":0})")).find("<none>"),
      std::string::npos);
}

// These files are small, but would use all memory or time.
TEST(TokenizerJson, RefusesWhatGrowsWithoutBound) {
  const auto code = [](const std::string& json) {
    const auto tokenizer = Tokenizer::from_json(json);
    return tokenizer.ok() ? std::string("ok") : tokenizer.error().message;
  };
  const auto with = [](const std::string& steps) {
    return "{" + steps + R"(,"model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":[]},
      "added_tokens":[{"id":1,"content":"b","normalized":true}]})";
  };
  const auto repeated = [](const std::string& step, int count) {
    std::string list = step;
    while (--count > 0) list += "," + step;
    return "[" + list + "]";
  };
  const std::string twice = R"({"type":"Replace","pattern":{"String":"b"},"content":"bbbbbbbb"})";
  EXPECT_EQ(code(with(R"("normalizer":)" + twice)), "ok");
  EXPECT_NE(code(with(R"("normalizer":{"type":"Sequence","normalizers":)" + repeated(twice, 12) + "}"))
                .find("times longer"),
            std::string::npos);
  EXPECT_NE(code(with(R"("normalizer":{"type":"Sequence","normalizers":)" +
                      repeated(R"({"type":"Nmt"})", 70) + "}"))
                .find("70 steps"),
            std::string::npos);
  EXPECT_NE(code(with(R"("decoder":{"type":"Sequence","decoders":)" + repeated(twice, 12) + "}"))
                .find("4096 is the most"),
            std::string::npos);
  EXPECT_NE(code(with(R"("pre_tokenizer":{"type":"Metaspace","replacement":"  "})")).find("Metaspace"),
            std::string::npos);
  EXPECT_NE(code(R"({"model":{"type":"BPE","vocab":{"a":3000000},"merges":[]}})").find("far above"),
            std::string::npos);
}

TEST(TokenizerJson, TakesTheLongMembersInAnyShapeApart) {
  const auto message = [](const std::string& model) {
    const auto tokenizer = Tokenizer::from_json(R"({"model":{"type":"BPE",)" + model + "}}");
    return tokenizer.ok() ? std::string("ok") : tokenizer.error().message;
  };
  EXPECT_EQ(message(R"("vocab":{"a":0,"\u0062":1,"ab":2},"merges":[["a","\u0062"]])"), "ok");
  EXPECT_EQ(message(R"("merges":["x y"],"vocab":{},"vocab":{"a":0,"b":1,"ab":2},"merges":["a b"])"), "ok");
  for (const char* vocab :
       {R"({"a":[0]})", R"({"a":"0"})", R"({"a":{"b":0}})", R"({"a":null})", R"({"a":0.0})", R"({"a":[[0]]})",
        R"({"a":1e300})", R"({"a":99999999999999999999})"})
    EXPECT_NE(message(std::string(R"("merges":[],"vocab":)") + vocab).find("not a token number"),
              std::string::npos)
        << vocab;
  for (const char* vocab : {"[]", "null", "3", R"("a")"})
    EXPECT_NE(message(std::string(R"("merges":[],"vocab":)") + vocab).find("no vocab"), std::string::npos)
        << vocab;
  for (const char* merge : {"3", "null", "[]", R"(["a"])", R"(["a","b","a"])", R"(["a",["b"]])",
                            R"({"a":"b"})", R"(["a","b",1])", R"("ab")", R"([["a","b"]])"})
    EXPECT_NE(message(std::string(R"("vocab":{"a":0,"b":1,"ab":2},"merges":[)") + merge + "]")
                  .find("not two tokens"),
              std::string::npos)
        << merge;
  EXPECT_NE(message(R"("vocab":{"a":0,"a":1},"merges":[])").find("has the ids 0 and 1"), std::string::npos);
  // In other places than "model" these names have no meaning.
  EXPECT_EQ(Tokenizer::from_json(R"({"vocab":{"model":{"vocab":[1]}},"merges":[[[2]]],"x":{"vocab":{"q":1}},
      "model":{"type":"BPE","y":{"vocab":{"r":5}},"vocab":{"a":0},"merges":[]}})")
                .ok(),
            true);
}

}  // namespace
}  // namespace kvasir::text

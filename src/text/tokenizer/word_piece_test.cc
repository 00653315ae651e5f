#include "text/tokenizer/word_piece.h"

#include <gtest/gtest.h>

#include "text/tokenizer/tokenizer.h"

namespace kvasir::text {
namespace {

// Makes a tokenizer.json. Ids count up from 0: [UNK] is 0, [CLS] is 1, [SEP] is 2, then the words follow.
std::string file(std::string_view normalizer) {
  const std::vector<std::string> words = {"un",   "##aff", "##able", "runs", "run", "##s", ",", "'",
                                          "cafe", "café",  "\u4e2d", "a",    "##b", "!",   "é"};
  std::string vocabulary = R"("[UNK]":0,"[CLS]":1,"[SEP]":2)";
  int id = 3;
  for (const std::string& word : words) vocabulary += fmt::format(",\"{}\":{}", word, id++);
  std::string added;
  for (int special = 0; special < 3; ++special) {
    const char* names[] = {"[UNK]", "[CLS]", "[SEP]"};
    added += fmt::format(R"({}{{"id":{},"content":"{}","special":true}})", special == 0 ? "" : ",", special,
                         names[special]);
  }
  return fmt::format(R"({{"added_tokens":[{}],"normalizer":{},"pre_tokenizer":{{"type":"BertPreTokenizer"}},
    "post_processor":{{"type":"TemplateProcessing","single":[{{"SpecialToken":{{"id":"[CLS]","type_id":0}}}},
      {{"Sequence":{{"id":"A","type_id":0}}}},{{"SpecialToken":{{"id":"[SEP]","type_id":0}}}}]}},
    "model":{{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",
      "max_input_chars_per_word":10,"vocab":{{{}}}}}}})",
                     added, normalizer, vocabulary);
}

constexpr std::string_view kUncased =
    R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true})";
constexpr std::string_view kCased =
    R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":false})";

std::vector<TokenId> encode(std::string_view normalizer, std::string_view text) {
  const auto tokenizer = Tokenizer::from_json(file(normalizer));
  CHECK(tokenizer.ok(), "{}", tokenizer.error().message);
  return (*tokenizer)->encode(text, Specials::as_text);
}

using Ids = std::vector<TokenId>;

TEST(WordPiece, TakesTheLongestPieceFirst) {
  EXPECT_EQ(encode(kUncased, "unaffable"), (Ids{3, 4, 5}));
  EXPECT_EQ(encode(kUncased, "runs run ab"), (Ids{6, 7, 14, 15}));
}

TEST(WordPiece, AWordThatCannotBeSpelledIsUnknownAsAWhole) {
  EXPECT_EQ(encode(kUncased, "unaffx run"), (Ids{0, 7}));
  EXPECT_EQ(encode(kUncased, "abbbbbbbbb"), (Ids{14, 15, 15, 15, 15, 15, 15, 15, 15, 15}));
  EXPECT_EQ(encode(kUncased, "abbbbbbbbbb"), (Ids{0}));  // the word is too long
  EXPECT_EQ(encode(kUncased, "\xFF run"), (Ids{0, 7}));
}

TEST(WordPiece, BertSplitsAndNormalizes) {
  EXPECT_EQ(encode(kUncased, "  Run,\tRUNS!\u00a0run'\n"), (Ids{7, 9, 6, 16, 7, 10}));
  EXPECT_EQ(encode(kUncased, "r\u00ADu\u200bn\u0000"), (Ids{7}));  // format characters are removed
  EXPECT_EQ(encode(kUncased, "CAFÉ \u00C9"), (Ids{11, 0}));
  EXPECT_EQ(encode(kCased, "café é"), (Ids{12, 17}));
  EXPECT_EQ(encode(kUncased, "a\u4e2drun"), (Ids{14, 13, 7}));
  EXPECT_TRUE(encode(kUncased, " \n\t ").empty());
}

TEST(WordPiece, KnowsItsFirstAndLastToken) {
  const auto tokenizer = Tokenizer::from_json(file(kUncased), R"({"cls_token":"[CLS]"})");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_TRUE((*tokenizer)->add_bos());
  EXPECT_TRUE((*tokenizer)->add_eos());
  EXPECT_EQ((*tokenizer)->bos(), 1);
  EXPECT_EQ((*tokenizer)->eos(), 2);
  EXPECT_EQ((*tokenizer)->encode("[CLS] run", Specials::parse), (Ids{1, 7}));
}

TEST(WordPiece, ReadsGgufsSpelling) {
  Vocabulary vocabulary;
  vocabulary.model = "bert";
  vocabulary.tokens = {"[UNK]", "[CLS]", "[SEP]", "[MASK]", "▁un", "aff", "▁aff", "▁,"};
  vocabulary.types = {TokenType::unknown, TokenType::control, TokenType::control, TokenType::normal,
                      TokenType::normal,  TokenType::normal,  TokenType::normal,  TokenType::normal};
  vocabulary.bos = 1;
  vocabulary.eos = 2;
  vocabulary.unk = 0;
  vocabulary.add_bos = vocabulary.add_eos = true;
  const auto tokenizer = Tokenizer::from_vocabulary(vocabulary);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->encode("Unaff, AFF x", Specials::as_text), (Ids{4, 5, 7, 6, 0}));
  EXPECT_TRUE((*tokenizer)->add_bos() && (*tokenizer)->add_eos());
}

TEST(WordPiece, RefusesWhatItCannotBe) {
  std::string changed = file(kUncased);
  changed.replace(changed.find("word\":10"), 8, "word\":-1");
  EXPECT_EQ(Tokenizer::from_json(changed).error().code, base::ErrorCode::unsupported);
  EXPECT_EQ(Tokenizer::from_json(R"({"model":{"type":"WordPiece"}})").error().code, base::ErrorCode::corrupt);
}

}  // namespace
}  // namespace kvasir::text

#include "text/tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stop_token>
#include <string>
#include <thread>

#include "text/chat_template.h"
#include "text/tokenizer/byte_level.h"

namespace kvasir::text {
namespace {

// Makes a vocabulary of all 256 bytes, some merges, and three added tokens.
Vocabulary small_vocabulary() {
  Vocabulary vocabulary{.model = "gpt2", .pre = "gpt-2"};
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.push_back(spelling_of_byte(static_cast<unsigned char>(byte)));
    vocabulary.types.push_back(TokenType::normal);
  }
  for (const char* merge : {"l l", "h e", "he ll", "hell o", "\xC4\xA0 hello", "a a", "aa aa"}) {
    vocabulary.merges.emplace_back(merge);
    std::string token(merge);
    token.erase(token.find(' '), 1);
    vocabulary.tokens.push_back(token);
    vocabulary.types.push_back(TokenType::normal);
  }
  for (const char* added : {"<|im_start|>", "<|im_end|>"}) {
    vocabulary.tokens.emplace_back(added);
    vocabulary.types.push_back(TokenType::control);
  }
  vocabulary.tokens.emplace_back("<tool_call>");
  vocabulary.types.push_back(TokenType::user_defined);
  vocabulary.eos = static_cast<TokenId>(vocabulary.tokens.size() - 2);
  return vocabulary;
}

std::shared_ptr<const Tokenizer> small_tokenizer(const std::string& chat_template = "") {
  Vocabulary vocabulary = small_vocabulary();
  vocabulary.chat_template = chat_template;
  auto tokenizer = Tokenizer::from_vocabulary(std::move(vocabulary));
  CHECK(tokenizer.ok(), "{}", tokenizer.error().message);
  return *tokenizer;
}

std::vector<std::string> pieces(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
  std::vector<std::string> bytes;
  for (const TokenId id : tokens) bytes.emplace_back(tokenizer.bytes(id));
  return bytes;
}

using Pieces = std::vector<std::string>;

TEST(Tokenizer, MergesByRankInsideWords) {
  const auto tokenizer = small_tokenizer();
  EXPECT_EQ(pieces(*tokenizer, tokenizer->encode("hello hello, hell", Specials::parse)),
            (Pieces{"hello", " hello", ",", " ", "hell"}));
  EXPECT_EQ(pieces(*tokenizer, tokenizer->encode("aaaaaaa", Specials::parse)), (Pieces{"aaaa", "aa", "a"}));
}

TEST(Tokenizer, TellsSpecialTokensFromText) {
  const auto tokenizer = small_tokenizer();
  const std::string text = "<|im_start|>hello<tool_call><|im_end|>";
  EXPECT_EQ(pieces(*tokenizer, tokenizer->encode(text, Specials::parse)),
            (Pieces{"<|im_start|>", "hello", "<tool_call>", "<|im_end|>"}));
  const auto as_text = tokenizer->encode(text, Specials::as_text);
  EXPECT_GT(as_text.size(), 10u);
  for (const TokenId id : as_text) EXPECT_FALSE(tokenizer->is_special(id));
  EXPECT_EQ(tokenizer->decode(as_text), text);
}

TEST(Tokenizer, ClientTextForgesNoSpecialToken) {
  const auto tokenizer = small_tokenizer();
  Prompt prompt;
  prompt.append_literal("<|im_start|>");
  prompt.append_input("<|im_end|>");
  prompt.append_literal("<|im_");
  prompt.append_input("end|>");
  prompt.append_literal("<|im_end|>");
  const auto tokens = tokenizer->encode(prompt);
  EXPECT_EQ(
      std::count_if(tokens.begin(), tokens.end(), [&](TokenId id) { return tokenizer->is_special(id); }), 2);
  EXPECT_EQ(tokenizer->decode(tokens, SpecialOutput::keep), prompt.text);
  EXPECT_EQ(tokenizer->bytes(tokens.front()), "<|im_start|>");
  EXPECT_EQ(tokenizer->bytes(tokens.back()), "<|im_end|>");
}

// An added token that is not special is recognised in a client's text, unless the template marks parts of a
// chat with it.
TEST(Tokenizer, ClientTextForgesNothingThatTheTemplateMarksPartsWith) {
  const auto count = [](const std::string& chat_template) {
    const auto tokenizer = small_tokenizer(chat_template);
    Prompt prompt;
    prompt.append_literal("<tool_call>");
    prompt.append_input("<tool_call>");
    const auto tokens = tokenizer->encode(prompt);
    EXPECT_EQ(tokenizer->decode(tokens), prompt.text);
    return std::count(tokens.begin(), tokens.end(), *tokenizer->find("<tool_call>"));
  };
  EXPECT_EQ(count("{{ '<tool_call>' + call }}"), 1);
  EXPECT_EQ(count("{{ messages }}"), 2);
}

TEST(Tokenizer, DecodesWhatItEncodes) {
  const auto tokenizer = small_tokenizer();
  std::string all;
  for (int i = 0; i < 300; ++i) all += "héllo \xF0\x9F\x98\x80 \n\t" + std::to_string(i * 7919);
  for (const std::string& text : {std::string(), std::string("a\0b", 3), all}) {
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, Specials::parse)), text);
  }
  // The bytes of invalid UTF-8 become tokens, which decode to replacement characters.
  const auto tokens = tokenizer->encode("x\xFF\xE4\xBDy", Specials::parse);
  EXPECT_EQ(pieces(*tokenizer, tokens), (Pieces{"x", "\xFF", "\xE4", "\xBD", "y"}));
  EXPECT_EQ(tokenizer->decode(tokens), "x\xEF\xBF\xBD\xEF\xBF\xBDy");
}

TEST(Tokenizer, FindsEndTokens) {
  const auto tokenizer = small_tokenizer();
  ASSERT_EQ(tokenizer->end_tokens().size(), 1u);
  EXPECT_EQ(tokenizer->bytes(tokenizer->end_tokens()[0]), "<|im_end|>");
  EXPECT_EQ(tokenizer->find("hello"), tokenizer->encode("hello", Specials::parse).front());
  EXPECT_EQ(tokenizer->find("no such token"), std::nullopt);
  EXPECT_EQ(tokenizer->max_token_bytes(), std::string_view("<|im_start|>").size());
}

TEST(Tokenizer, SurvivesLongMonotonousText) {
  const auto tokenizer = small_tokenizer();
  constexpr std::size_t kSize = 1 << 20;
  EXPECT_EQ(tokenizer->encode(std::string(kSize, 'a'), Specials::parse).size(), kSize / 4);
  for (const char c : {' ', '\n', '<', '1', '\xCC', '\xFF'}) {
    EXPECT_EQ(tokenizer->encode(std::string(kSize, c), Specials::parse).size(), kSize);
  }
}

TEST(Tokenizer, EndsEarlyWhenAsked) {
  const auto tokenizer = small_tokenizer();
  std::stop_source stop;
  EXPECT_EQ(tokenizer->encode("hello hello", Specials::parse, stop.get_token()).size(), 2u);
  stop.request_stop();
  EXPECT_EQ(tokenizer->encode("hello hello", Specials::parse, stop.get_token()).size(), 0u);
}

// Sentencepiece uses U+2581 for a space, byte tokens for unknown characters, and merges by score.
TEST(Tokenizer, ReadsSentencepieceVocabularies) {
  Vocabulary vocabulary{.model = "llama"};
  const auto add = [&](std::string token, TokenType type, float score) {
    vocabulary.tokens.push_back(std::move(token));
    vocabulary.types.push_back(type);
    vocabulary.scores.push_back(score);
  };
  add("<unk>", TokenType::unknown, 0);
  add("<s>", TokenType::control, 0);
  for (int byte = 0; byte < 256; ++byte) add(fmt::format("<0x{:02X}>", byte), TokenType::byte, 0);
  for (const char* character : {"\u2581", "a", "b", "c"}) add(character, TokenType::normal, -100);
  add("bc", TokenType::normal, -1);
  add("ab", TokenType::normal, -2);
  add("\u2581a", TokenType::normal, -3);
  vocabulary.unk = 0;
  vocabulary.bos = 1;
  vocabulary.add_bos = true;
  auto loaded = Tokenizer::from_vocabulary(vocabulary);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const Tokenizer& tokenizer = **loaded;
  EXPECT_EQ(pieces(tokenizer, tokenizer.encode("abc ab", Specials::parse)), (Pieces{" a", "bc", " ", "ab"}));
  EXPECT_EQ(pieces(tokenizer, tokenizer.encode("<s>a", Specials::parse)), (Pieces{"<s>", " a"}));
  EXPECT_EQ(pieces(tokenizer, tokenizer.encode("\u00E9\n", Specials::parse)),
            (Pieces{" ", "\xC3", "\xA9", "\n"}));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("abc \u00E9", Specials::parse)), "abc \u00E9");
  EXPECT_TRUE(tokenizer.add_bos());
  vocabulary.scores.pop_back();
  EXPECT_FALSE(Tokenizer::from_vocabulary(vocabulary).ok());
}

TEST(Tokenizer, ManyThreadsShareOne) {
  const auto tokenizer = small_tokenizer();
  const auto expected = tokenizer->encode("hello <|im_start|> w\u00F6rld", Specials::parse);
  std::vector<std::thread> threads;
  std::atomic<int> num_wrong = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        if (tokenizer->encode("hello <|im_start|> w\u00F6rld", Specials::parse) != expected) ++num_wrong;
        if (!ChatTemplate::chatml().render({}).ok()) ++num_wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_wrong, 0);
}

TEST(Tokenizer, SaysWhatIsWrongWithAVocabulary) {
  const auto message = [](auto change) {
    Vocabulary vocabulary = small_vocabulary();
    change(vocabulary);
    const auto tokenizer = Tokenizer::from_vocabulary(std::move(vocabulary));
    return tokenizer.ok() ? std::string("ok") : tokenizer.error().message;
  };
  EXPECT_EQ(message([](Vocabulary&) {}), "ok");
  EXPECT_NE(message([](Vocabulary& v) { v.tokens[5] = v.tokens[6]; }).find("twice"), std::string::npos);
  EXPECT_NE(message([](Vocabulary& v) { v.merges.emplace_back("x y"); }).find("no token"), std::string::npos);
  EXPECT_NE(message([](Vocabulary& v) { v.merges.emplace_back("xy"); }).find("not two"), std::string::npos);
  EXPECT_NE(message([](Vocabulary& v) { v.eos = 100000; }).find("eos token is 100000"), std::string::npos);
  EXPECT_NE(message([](Vocabulary& v) { v.types.pop_back(); }).find("token types"), std::string::npos);
  EXPECT_NE(message([](Vocabulary& v) { v.model = "rwkv"; }).find("\"rwkv\""), std::string::npos);
  EXPECT_NE(message([](Vocabulary& v) { v.pre = "nope"; }).find("\"nope\""), std::string::npos);
  EXPECT_NE(message([](Vocabulary& v) { v.tokens[3] = std::string(5000, 'x'); }).find("5000 bytes"),
            std::string::npos);
  EXPECT_NE(message([](Vocabulary& v) { v.tokens.clear(); }).find("no tokens"), std::string::npos);
}

}  // namespace
}  // namespace kvasir::text

#include "text/tokenizer/detokenizer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"

namespace kvasir::text {
namespace {

// Makes a vocabulary of single bytes, some pieces that cut characters in odd places, and a control token.
std::shared_ptr<const Tokenizer> make_tokenizer() {
  Vocabulary vocabulary{.model = "llama", .add_space_prefix = false};
  const auto add = [&](std::string token, TokenType type) {
    vocabulary.tokens.push_back(std::move(token));
    vocabulary.types.push_back(type);
    vocabulary.scores.push_back(0);
  };
  for (int byte = 0; byte < 256; ++byte) add(fmt::format("<0x{:02X}>", byte), TokenType::byte);
  add("hello", TokenType::normal);
  add("\u4F60\u597D", TokenType::normal);
  add("\xBD\xA0z", TokenType::normal);
  add("a\xF0\x9F", TokenType::normal);
  add("<|end|>", TokenType::control);
  auto tokenizer = Tokenizer::from_vocabulary(std::move(vocabulary));
  CHECK(tokenizer.ok(), "{}", tokenizer.error().message);
  return *tokenizer;
}

TEST(Detokenizer, PiecesJoinToWhatDecodesAtOnce) {
  const auto tokenizer = make_tokenizer();
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::vector<TokenId> tokens;
    for (int i = 0; i < 40; ++i) {
      // Mostly bytes that occur in UTF-8, so that there are valid, cut-off and wrong sequences.
      const TokenId byte = static_cast<TokenId>(0x70 + random() % 0x90);
      tokens.push_back(random() % 3 == 0 ? static_cast<TokenId>(256 + random() % 5) : byte);
    }
    for (const auto specials : {SpecialOutput::skip, SpecialOutput::keep}) {
      Detokenizer detokenizer(tokenizer, specials);
      std::string joined;
      for (const TokenId id : tokens) {
        const std::string piece = detokenizer.push(id);
        EXPECT_EQ(base::utf8_valid_prefix(piece), piece.size());
        joined += piece;
      }
      joined += detokenizer.flush();
      EXPECT_EQ(joined, tokenizer->decode(tokens, specials));
    }
  }
}

TEST(Detokenizer, HoldsACharacterUntilItIsWhole) {
  Detokenizer detokenizer(make_tokenizer());
  EXPECT_EQ(detokenizer.push(0xF0), "");
  EXPECT_EQ(detokenizer.push(0x9F), "");
  EXPECT_EQ(detokenizer.push(0x98), "");
  EXPECT_EQ(detokenizer.push(0x80), "\U0001F600");
  EXPECT_EQ(detokenizer.push(260), "");  // the control token
  EXPECT_EQ(detokenizer.push(0xE4), "");
  EXPECT_EQ(detokenizer.flush(), "\uFFFD");
  EXPECT_EQ(detokenizer.flush(), "");
}

}  // namespace
}  // namespace kvasir::text

#include "text/tokenizer/fim_tokens.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "text/tokenizer/byte_level.h"
#include "text/tokenizer/tokenizer.h"

namespace kvasir::text {
namespace {

Vocabulary vocabulary_with(const std::vector<std::string>& added, TokenType type) {
  Vocabulary vocabulary{.model = "gpt2", .pre = "gpt-2"};
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.push_back(spelling_of_byte(static_cast<unsigned char>(byte)));
    vocabulary.types.push_back(TokenType::normal);
  }
  for (const std::string& token : added) {
    vocabulary.tokens.push_back(token);
    vocabulary.types.push_back(type);
  }
  return vocabulary;
}

std::shared_ptr<const Tokenizer> tokenizer_of(Vocabulary vocabulary) {
  auto tokenizer = Tokenizer::from_vocabulary(std::move(vocabulary));
  CHECK(tokenizer.ok(), "{}", tokenizer.error().message);
  return *tokenizer;
}

TEST(FimTokens, AreFoundByTheNamesOfModelFamilies) {
  const std::vector<std::vector<std::string>> families = {
      {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},
      {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},
      {"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},
      {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},
      {"▁<PRE>", "▁<SUF>", "▁<MID>"},
      {"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"}};
  for (const auto& names : families) {
    const auto tokenizer = tokenizer_of(vocabulary_with(names, TokenType::control));
    ASSERT_TRUE(tokenizer->fim()) << names.front();
    EXPECT_EQ(tokenizer->fim()->all(), (std::vector<TokenId>{256, 257, 258})) << names.front();
  }
}

TEST(FimTokens, AllThreeAreNeeded) {
  EXPECT_FALSE(tokenizer_of(vocabulary_with({}, TokenType::control))->fim());
  EXPECT_FALSE(
      tokenizer_of(vocabulary_with({"<|fim_prefix|>", "<|fim_suffix|>"}, TokenType::control))->fim());
  // Tokens with names from two families are not a set.
  EXPECT_FALSE(
      tokenizer_of(vocabulary_with({"<|fim_prefix|>", "<fim_suffix>", "<|fim_middle|>"}, TokenType::control))
          ->fim());
}

TEST(FimTokens, TheFilesOwnKeysComeFirst) {
  Vocabulary vocabulary = vocabulary_with(
      {"<a>", "<b>", "<c>", "<|file_sep|>", "<|repo_name|>", "<|fim_pad|>"}, TokenType::control);
  vocabulary.fim = {.prefix = 256, .suffix = 257, .middle = 258, .pad = 260};
  const auto tokenizer = tokenizer_of(std::move(vocabulary));
  ASSERT_TRUE(tokenizer->fim());
  EXPECT_EQ(tokenizer->fim()->prefix, 256);
  EXPECT_EQ(tokenizer->fim()->pad, 260);
  EXPECT_EQ(tokenizer->fim()->file, 259);
  Vocabulary wrong = vocabulary_with({}, TokenType::control);
  wrong.fim.middle = 256;
  EXPECT_FALSE(Tokenizer::from_vocabulary(std::move(wrong)).ok());
}

// Some files type these tokens as ordinary added tokens, which are usually recognised in a client's text.
TEST(FimTokens, ClientTextForgesNone) {
  const auto tokenizer = tokenizer_of(
      vocabulary_with({"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"}, TokenType::user_defined));
  Prompt prompt;
  prompt.append_literal("<|fim_prefix|>");
  prompt.append_input("<|fim_middle|>");
  const std::vector<TokenId> tokens = tokenizer->encode(prompt);
  EXPECT_EQ(tokens.front(), 256);
  EXPECT_EQ(tokens.size(), 1 + std::string_view("<|fim_middle|>").size());
}

}  // namespace
}  // namespace kvasir::text

#include "grammar/grammar_compiler.h"

#include <gtest/gtest.h>

#include <thread>

#include "grammar/matcher.h"

namespace kvasir::grammar {
namespace {

std::shared_ptr<const TokenTrie> byte_trie() {
  TokenTrie::Vocabulary vocabulary;
  for (int b = 0; b < 256; ++b) vocabulary.token_bytes.emplace_back(1, static_cast<char>(b));
  vocabulary.end = {256};
  vocabulary.token_bytes.emplace_back("");
  return std::make_shared<const TokenTrie>(std::move(vocabulary));
}

GrammarSource regex(std::string text) {
  return {.kind = GrammarSource::Kind::regex, .text = std::move(text)};
}

TEST(GrammarCompiler, KeepsWhatWasUsedLast) {
  GrammarCompiler compiler(byte_trie(), {.max_grammars = 2});
  const auto a = *compiler.compile(regex("a"));
  ASSERT_TRUE(compiler.compile(regex("b")).ok());
  EXPECT_EQ(*compiler.compile(regex("a")), a);
  ASSERT_TRUE(compiler.compile(regex("c")).ok());  // removes b
  EXPECT_EQ(*compiler.compile(regex("a")), a);
  EXPECT_EQ(compiler.stats().num_compiled, 3u);
  ASSERT_TRUE(compiler.compile(regex("b")).ok());
  EXPECT_EQ(compiler.stats().num_compiled, 4u);
}

TEST(GrammarCompiler, EveryKind) {
  GrammarCompiler compiler(byte_trie());
  using Kind = GrammarSource::Kind;
  const auto takes = [&](Kind kind, std::string source, std::string_view text) {
    auto compiled = compiler.compile({.kind = kind, .text = std::move(source)});
    CHECK(compiled.ok(), "{}", compiled.error().message);
    Matcher matcher(*compiled);
    return *matcher.accept_bytes(text) && matcher.is_complete();
  };
  EXPECT_TRUE(takes(Kind::json_object, "", R"({"a":1})"));
  EXPECT_TRUE(takes(Kind::json_schema, R"({"type":"integer"})", "12"));
  EXPECT_TRUE(takes(Kind::regex, "a+", "aaa"));
  EXPECT_TRUE(takes(Kind::ebnf, "root ::= \"x\"", "x"));
  EXPECT_TRUE(takes(Kind::choice, R"(["yes","no"])", "no"));
  EXPECT_FALSE(compiler.compile({.kind = Kind::choice, .text = "[]"}).ok());
  EXPECT_FALSE(compiler.compile({.kind = Kind::choice, .text = "[1]"}).ok());
  EXPECT_FALSE(compiler.compile({.kind = Kind::json_schema, .text = "{"}).ok());
}

TEST(GrammarCompiler, OneCompilationForManyThreads) {
  GrammarCompiler compiler(byte_trie());
  std::vector<std::thread> threads;
  std::vector<std::shared_ptr<CompiledGrammar>> grammars(8);
  for (std::size_t i = 0; i < grammars.size(); ++i) {
    threads.emplace_back([&, i] {
      auto compiled = compiler.compile(regex("(?:ab|cd){3,9}[a-z]*"));
      if (compiled.ok()) grammars[i] = *compiled;
      Matcher matcher(grammars[i]);
      std::vector<std::uint32_t> bits(grammars[i]->trie().num_mask_words());
      for (int step = 0; step < 50; ++step) {
        const auto filled = matcher.fill_mask(bits);
        CHECK(filled.ok());
        CHECK(*matcher.accept(step % 2 == 0 ? 'a' : 'b'));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compiler.stats().num_compiled, 1u);
  for (const auto& grammar : grammars) EXPECT_EQ(grammar, grammars[0]);
}

TEST(GrammarCompiler, LimitsAreErrors) {
  GrammarCompiler compiler(byte_trie(), {.max_source_bytes = 1000, .grammar = {.max_states = 500}});
  const auto long_text = compiler.compile(regex(std::string(2000, 'a')));
  ASSERT_FALSE(long_text.ok());
  EXPECT_EQ(long_text.error().code, base::ErrorCode::too_large);
  const auto many_states = compiler.compile(regex(std::string(900, 'a')));
  ASSERT_FALSE(many_states.ok());
  EXPECT_EQ(many_states.error().code, base::ErrorCode::too_large);
  GrammarCompiler hurried(byte_trie(), {.grammar = {.max_compile_time = std::chrono::milliseconds(-1)}});
  const auto late = hurried.compile(regex("[^a]*b[^c]*"));
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, base::ErrorCode::too_large);
}

}  // namespace
}  // namespace kvasir::grammar

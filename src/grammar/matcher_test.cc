#include "grammar/matcher.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "grammar/choice.h"

namespace kvasir::grammar {
namespace {

// A vocabulary of every byte and random words over the test's alphabet.
std::shared_ptr<const TokenTrie> make_trie(std::string_view alphabet, int num_words) {
  TokenTrie::Vocabulary vocabulary;
  for (int b = 0; b < 256; ++b) vocabulary.token_bytes.emplace_back(1, static_cast<char>(b));
  std::mt19937 rng(7);
  for (int i = 0; i < num_words; ++i) {
    std::string word;
    for (std::uint32_t n = 2 + rng() % 6; n > 0; --n) word += alphabet[rng() % alphabet.size()];
    vocabulary.token_bytes.push_back(word);
  }
  vocabulary.end = {static_cast<TokenId>(vocabulary.token_bytes.size())};
  vocabulary.token_bytes.emplace_back("</s>");
  return std::make_shared<const TokenTrie>(std::move(vocabulary));
}

Matcher make_matcher(const Grammar& grammar, std::shared_ptr<const TokenTrie> trie,
                     GrammarLimits limits = {}) {
  auto compiled = CompiledGrammar::create(grammar, std::move(trie), limits);
  CHECK(compiled.ok(), "{}", compiled.error().message);
  return Matcher(*compiled);
}

std::vector<TokenId> allowed(Matcher& matcher, const TokenTrie& trie) {
  std::vector<std::uint32_t> bits(trie.num_mask_words(), 0xFFFFFFFF);
  const auto status = matcher.fill_mask(bits);
  CHECK(status.ok(), "{}", status.error().message);
  std::vector<TokenId> ids;
  for (std::size_t t = 0; t < trie.num_tokens(); ++t) {
    if ((bits[t / 32] >> (t % 32)) & 1) ids.push_back(static_cast<TokenId>(t));
  }
  return ids;
}

bool try_token(const Matcher& matcher, TokenId token) {
  Matcher copy = matcher;
  auto accepted = copy.accept(token);
  CHECK(accepted.ok(), "{}", accepted.error().message);
  return *accepted;
}

TEST(Matcher, MaskIsWhatAcceptTakes) {
  const auto trie = make_trie("abcabcab().,", 1500);
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 rng(seed);
    const auto pick = [&](std::uint32_t n) { return static_cast<std::uint32_t>(rng() % n); };
    Grammar g;  // a list of words, calls and counted loops over overlapping classes
    const RuleId value = g.add_rule("value");
    const RuleId root = g.add_rule("root");
    const NodeId narrow = g.bytes(ByteSet::range('a', 'b'));
    const NodeId wide = g.bytes(ByteSet::range('a', 'z'));
    const NodeId pair = g.choice({g.literal("ab"), g.literal("c")});
    const std::uint32_t min = pick(3);
    const NodeId word = g.repeat(pick(2) ? wide : narrow, min, pick(2) ? kUnbounded : min + 1 + pick(9));
    const NodeId pairs = g.repeat(pair, pick(4), 4 + pick(20));
    const NodeId inner = g.sequence({g.literal("("), g.reference(value), g.literal(")")});
    g.define(value, g.choice({g.sequence({word, g.literal(".")}), pairs, inner,
                              g.repeat(g.sequence({g.literal(","), word}), 1, 3)}));
    g.define(root, pick(2) ? g.reference(value)
                           : g.sequence({g.reference(value), g.repeat(narrow, 0, 3), g.reference(value)}));
    g.set_root(root);
    Matcher matcher = make_matcher(g, trie);
    for (int step = 0; step < 12; ++step) {
      const std::vector<TokenId> ids = allowed(matcher, *trie);
      const std::set<TokenId> set(ids.begin(), ids.end());
      for (std::size_t t = 0; t < trie->num_tokens(); ++t) {
        const auto token = static_cast<TokenId>(t);
        ASSERT_EQ(set.contains(token), try_token(matcher, token)) << "seed " << seed << " token " << t;
      }
      if (ids.empty() || matcher.is_ended()) break;
      ASSERT_TRUE(*matcher.accept(ids[pick(static_cast<std::uint32_t>(ids.size()))]));
    }
  }
}

TEST(Matcher, EndTokenExactlyWhereComplete) {
  const auto trie = make_trie("abc", 50);
  const std::vector<std::string> words{"ab", "abc"};
  Matcher matcher = make_matcher(*grammar_of_choice(words), trie);
  const TokenId end = trie->end_tokens()[0];
  EXPECT_FALSE(*matcher.accept(end));
  ASSERT_TRUE(*matcher.accept('a'));
  EXPECT_FALSE(matcher.is_complete());
  ASSERT_TRUE(*matcher.accept('b'));
  EXPECT_TRUE(matcher.is_complete());
  const std::vector<TokenId> ids = allowed(matcher, *trie);
  EXPECT_EQ(ids, (std::vector<TokenId>{'c', end}));
  ASSERT_TRUE(*matcher.accept(end));
  EXPECT_TRUE(matcher.is_ended());
  EXPECT_TRUE(allowed(matcher, *trie).empty());
  EXPECT_FALSE(*matcher.accept('c'));
  matcher.rollback(1);
  EXPECT_TRUE(*matcher.accept('c'));
}

TEST(Matcher, RefusedTokenChangesNothing) {
  const auto trie = make_trie("abc", 50);
  const std::vector<std::string> words{"abcabc"};
  Matcher matcher = make_matcher(*grammar_of_choice(words), trie);
  ASSERT_TRUE(*matcher.accept_bytes("ab"));
  EXPECT_FALSE(*matcher.accept_bytes("cab?"));
  EXPECT_FALSE(*matcher.accept(-1));
  EXPECT_FALSE(*matcher.accept(1'000'000));
  EXPECT_TRUE(*matcher.accept_bytes("cabc"));
  EXPECT_TRUE(matcher.is_complete());
}

TEST(Matcher, RollbackAndCopiesGoTheirOwnWays) {
  const auto trie = make_trie("abc", 0);
  const std::vector<std::string> words{"abc", "acb"};
  Matcher matcher = make_matcher(*grammar_of_choice(words), trie);
  ASSERT_TRUE(*matcher.accept('a'));
  Matcher other = matcher;
  ASSERT_TRUE(*matcher.accept('b'));
  ASSERT_TRUE(*matcher.accept('c'));
  EXPECT_TRUE(matcher.is_complete());
  ASSERT_TRUE(*other.accept('c'));
  matcher.rollback(2);
  EXPECT_EQ(matcher.num_steps(), 1u);
  EXPECT_EQ(allowed(matcher, *trie), (std::vector<TokenId>{'b', 'c'}));
  EXPECT_EQ(allowed(other, *trie), (std::vector<TokenId>{'b'}));
}

TEST(Matcher, ForcedBytesAndTokens) {
  const auto trie = make_trie("x", 0);
  const std::vector<std::string> words{"name: a", "name: b"};
  Matcher matcher = make_matcher(*grammar_of_choice(words), trie);
  EXPECT_EQ(*matcher.forced_bytes(), "name: ");
  EXPECT_EQ(*matcher.forced_bytes(3), "nam");
  EXPECT_EQ(*matcher.forced_token(), std::optional<TokenId>('n'));
  ASSERT_TRUE(*matcher.accept_bytes("name: "));
  EXPECT_EQ(*matcher.forced_bytes(), "");
  EXPECT_EQ(*matcher.forced_token(), std::nullopt);
  ASSERT_TRUE(*matcher.accept('a'));
  EXPECT_EQ(*matcher.forced_token(), std::nullopt);  // the end token is also allowed
}

// The shared results are dropped many times meanwhile, which must not change anything.
TEST(Matcher, GoesOnInANewGenerationWhenTheOldIsFull) {
  const auto trie = make_trie("ab", 300);
  Grammar g;
  const RuleId root = g.add_rule("root");
  const NodeId ab = g.bytes(ByteSet::range('a', 'b'));
  g.define(root, g.sequence({g.repeat(ab, 5000, 5000), g.literal(".")}));
  g.set_root(root);
  Matcher matcher = make_matcher(g, trie, {.max_configuration_bytes = 100'000, .max_mask_bytes = 50'000});
  std::mt19937 rng(3);
  std::size_t length = 0;
  while (!matcher.is_complete()) {
    const std::vector<TokenId> ids = allowed(matcher, *trie);
    ASSERT_FALSE(ids.empty());
    const TokenId token = ids[rng() % ids.size()];
    length += trie->bytes_of(token).size();
    ASSERT_TRUE(*matcher.accept(token));
  }
  EXPECT_EQ(length, 5001u);
}

TEST(Matcher, AnExpensiveGrammarIsAnErrorOfItsOwn) {
  const auto trie = make_trie("a", 300);
  Grammar g;
  const RuleId root = g.add_rule("root");
  const NodeId a = g.literal("a");
  g.define(root, g.repeat(g.choice({a, g.literal("aa")}), 0, 1'000'000));
  g.set_root(root);
  Matcher matcher = make_matcher(g, trie, {.max_items = 200});
  base::Result<bool> accepted = true;
  for (int i = 0; i < 10'000 && accepted.ok(); ++i) accepted = matcher.accept('a');
  ASSERT_FALSE(accepted.ok());
  EXPECT_EQ(accepted.error().code, base::ErrorCode::too_large);
}

}  // namespace
}  // namespace kvasir::grammar

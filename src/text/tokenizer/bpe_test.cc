#include "text/tokenizer/bpe.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace kvasir::text {
namespace {

// A vocabulary over a few letters, with random merges of its tokens.
struct RandomBpe {
  TokenTable table;
  struct Rule {
    TokenId left, right, result;
    std::uint32_t rank;
  };
  std::vector<Rule> rules;

  RandomBpe(std::mt19937& random, std::uint32_t merges_per_rank) {
    std::vector<std::string> tokens = {"a", "b", "c"};
    const auto pick = [&] {
      return std::uniform_int_distribution<std::size_t>(0, tokens.size() - 1)(random);
    };
    while (rules.size() < 40) {
      const std::size_t left = pick();
      const std::size_t right = pick();
      const std::string joined = tokens[left] + tokens[right];
      if (joined.size() > 12) continue;
      const auto known = std::find(tokens.begin(), tokens.end(), joined);
      const auto result = static_cast<TokenId>(known - tokens.begin());
      if (known == tokens.end()) tokens.push_back(joined);
      rules.push_back({static_cast<TokenId>(left), static_cast<TokenId>(right), result,
                       static_cast<std::uint32_t>(rules.size()) / merges_per_rank});
    }
    // A merge may rank before the merges that make its sides.
    for (std::size_t i = rules.size() - 1; i > 0; --i)
      std::swap(rules[i].rank, rules[std::uniform_int_distribution<std::size_t>(0, i)(random)].rank);
    for (const std::string& token : tokens)
      EXPECT_TRUE(table.add({.spelling = token, .bytes = token, .type = TokenType::normal}).ok());
    table.build_index();
  }

  Bpe make() const {
    MergeTable merges(rules.size());
    for (const Rule& rule : rules)
      merges.insert(rule.left, rule.right, {.rank = rule.rank, .result = rule.result});
    return Bpe(table, std::move(merges), {});
  }

  // Encodes a word exactly as the definition says.
  std::vector<TokenId> slowly(const std::string& word) const {
    MergeTable merges(rules.size());
    for (const Rule& rule : rules)
      merges.insert(rule.left, rule.right, {.rank = rule.rank, .result = rule.result});
    std::vector<TokenId> ids;
    for (const char c : word) ids.push_back(*table.find_piece({&c, 1}));
    while (true) {
      std::size_t best = 0;
      MergeTable::Merge lowest;
      for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
        const auto merge = merges.find(ids[i], ids[i + 1]);
        if (merge.rank < lowest.rank) {
          lowest = merge;
          best = i;
        }
      }
      if (lowest.rank == MergeTable::kNoRank) return ids;
      ids[best] = lowest.result;
      ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
  }
};

TEST(Bpe, LongAndShortWordsMergeAsDefined) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const RandomBpe model(random, round % 3 == 0 ? 5 : 1);
    const Bpe bpe = model.make();
    Workspace work;
    for (const std::size_t size : {1, 2, 5, 31, 32, 33, 64, 200, 600}) {
      std::string word;
      const bool one_letter = round % 4 == 1;
      while (word.size() < size)
        word += static_cast<char>('a' + (one_letter ? 0 : std::uniform_int_distribution<int>(0, 2)(random)));
      std::vector<TokenId> ids;
      bpe.encode(word, work, ids);
      ASSERT_EQ(ids, model.slowly(word)) << word;
    }
  }
}

// Equal ranks are the worst case for a queue. A quadratic algorithm would take minutes here.
TEST(Bpe, HugeWordsTakeLinearTime) {
  std::mt19937 random(3);
  for (const std::uint32_t merges_per_rank : {1u, 100u}) {
    const RandomBpe model(random, merges_per_rank);
    const Bpe bpe = model.make();
    Workspace work;
    for (const bool one_letter : {true, false}) {
      std::string word;
      while (word.size() < (1 << 20))
        word += static_cast<char>('a' + (one_letter ? 0 : std::uniform_int_distribution<int>(0, 2)(random)));
      std::vector<TokenId> ids;
      bpe.encode(word, work, ids);
      std::string back;
      for (const TokenId id : ids) back += model.table.bytes(id);
      ASSERT_EQ(back, word);
    }
  }
}

TEST(Bpe, StopsWhenToldTo) {
  std::mt19937 random(5);
  const RandomBpe model(random, 1);
  const Bpe bpe = model.make();
  Workspace work;
  std::stop_source source;
  source.request_stop();
  work.stop = source.get_token();
  std::vector<TokenId> ids;
  bpe.encode(std::string(1 << 20, 'a'), work, ids);
  EXPECT_EQ(ids.size(), std::size_t{1} << 20);  // nothing was merged
  work.stop = {};
  ids.clear();
  bpe.encode("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", work, ids);
  EXPECT_EQ(ids, model.slowly("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

}  // namespace
}  // namespace kvasir::text

#include "grammar/pushdown.h"

#include <gtest/gtest.h>

#include <random>

#include "grammar/span_oracle.h"

namespace kvasir::grammar {
namespace {

NodeId byte(Grammar& g, char c) {
  return g.bytes(ByteSet::range(static_cast<std::uint8_t>(c), static_cast<std::uint8_t>(c)));
}

struct Runner {
  explicit Runner(const Grammar& grammar) {
    auto built = Automaton::build(grammar);
    CHECK(built.ok(), "{}", built.error().message);
    pushdown = std::make_unique<Pushdown>(*built, Pushdown::Limits{});
  }
  // -1: not a prefix of any match; 0: a prefix; 1: a match.
  int feed(std::string_view text) {
    pushdown->set_work(100'000'000);
    ConfigId c = pushdown->start();
    for (const char b : text) {
      c = pushdown->step(c, static_cast<std::uint8_t>(b));
      CHECK(c != Pushdown::kFailed);
      if (c == Pushdown::kDead) return -1;
    }
    return pushdown->is_complete(c) ? 1 : 0;
  }
  std::unique_ptr<Pushdown> pushdown;
};

TEST(Pushdown, LeftRecursionIsNoSpecialCase) {
  Grammar g;  // sum: sum "+" num | num ; num: num digit | digit
  const RuleId sum = g.add_rule("sum");
  const RuleId num = g.add_rule("num");
  const NodeId digit = g.bytes(ByteSet::range('0', '9'));
  g.define(sum, g.choice({g.sequence({g.reference(sum), byte(g, '+'), g.reference(num)}), g.reference(num)}));
  g.define(num, g.choice({g.sequence({g.reference(num), digit}), digit}));
  g.set_root(sum);
  Runner run(g);
  EXPECT_EQ(run.feed("1+23+4"), 1);
  EXPECT_EQ(run.feed("1+"), 0);
  EXPECT_EQ(run.feed("+"), -1);
  EXPECT_EQ(run.feed("1++"), -1);
}

TEST(Pushdown, AmbiguityCostsFramesAndNotPaths) {
  Grammar g;  // s: "(" s "x" | "(" s "y" | ""   has 2^n stacks after n bytes
  const RuleId s = g.add_rule("s");
  const auto arm = [&](char c) { return g.sequence({byte(g, '('), g.reference(s), byte(g, c)}); };
  g.define(s, g.choice({arm('x'), arm('y'), g.empty()}));
  g.set_root(s);
  Runner run(g);
  std::string text(200, '(');
  for (int i = 0; i < 200; ++i) text += i % 3 == 0 ? 'x' : 'y';
  EXPECT_EQ(run.feed(text), 1);
  EXPECT_EQ(run.feed(text + "x"), -1);
  EXPECT_LT(run.pushdown->num_bytes(), 1u << 20);
}

TEST(Pushdown, RightRecursionKeepsNoFrames) {
  Grammar g;  // s: "a" s | ""
  const RuleId s = g.add_rule("s");
  g.define(s, g.choice({g.sequence({byte(g, 'a'), g.reference(s)}), g.empty()}));
  g.set_root(s);
  Runner run(g);
  EXPECT_EQ(run.feed(std::string(10'000, 'a')), 1);
  EXPECT_LT(run.pushdown->num_configs(), 10u);
}

TEST(Pushdown, CountsCostNoStates) {
  Grammar g;
  const RuleId s = g.add_rule("s");
  g.define(s, g.sequence({g.repeat(g.literal("ab"), 100'000, 1'000'000), byte(g, '.')}));
  g.set_root(s);
  auto built = Automaton::build(g);
  ASSERT_TRUE(built.ok());
  EXPECT_LT((*built)->num_states(), 20u);
  Runner run(g);
  EXPECT_EQ(run.feed("ab."), -1);
  EXPECT_EQ(run.feed("ababa"), 0);
}

TEST(Pushdown, ARuleThatCannotEndIsNoWay) {
  Grammar g;  // loop: "a" loop; root: loop | "b"
  const RuleId loop = g.add_rule("loop");
  g.define(loop, g.sequence({byte(g, 'a'), g.reference(loop)}));
  const RuleId root = g.add_rule("root");
  g.define(root, g.choice({g.reference(loop), byte(g, 'b')}));
  g.set_root(root);
  Runner run(g);
  EXPECT_EQ(run.feed("a"), -1);
  EXPECT_EQ(run.feed("b"), 1);
  g.set_root(loop);
  EXPECT_FALSE(Automaton::build(g).ok());
}

TEST(Pushdown, LimitsFailInsteadOfGrowing) {
  Grammar g;  // (a|aa){0,1000000} has ever more counts
  const RuleId s = g.add_rule("s");
  g.define(s, g.repeat(g.choice({byte(g, 'a'), g.literal("aa")}), 0, 1'000'000));
  g.set_root(s);
  auto built = Automaton::build(g);
  ASSERT_TRUE(built.ok());
  Pushdown pushdown(*built, {.max_bytes = 1 << 20, .max_items = 500});
  pushdown.set_work(1'000'000'000);
  ConfigId c = pushdown.start();
  for (int i = 0; i < 100'000 && c != Pushdown::kFailed; ++i) c = pushdown.step(c, 'a');
  EXPECT_EQ(c, Pushdown::kFailed);
  EXPECT_NE(pushdown.failure(), Pushdown::Failure::none);
  EXPECT_LT(pushdown.num_bytes(), 4u << 20);
}

class RandomGrammar {
 public:
  explicit RandomGrammar(std::uint32_t seed) : rng_(seed) {}

  Grammar make() {
    Grammar g;
    const int num_rules = 1 + pick(4);
    for (int r = 0; r < num_rules; ++r) g.add_rule("r" + std::to_string(r));
    for (int r = 0; r < num_rules; ++r) g.define(static_cast<RuleId>(r), node(g, 3));
    return g;
  }
  int pick(int n) { return static_cast<int>(rng_() % static_cast<std::uint32_t>(n)); }

 private:
  NodeId node(Grammar& g, int depth) {
    const int kind = depth == 0 ? pick(4) : pick(10);
    if (kind <= 1) return byte(g, static_cast<char>('a' + pick(3)));
    if (kind == 2) return g.reference(static_cast<RuleId>(pick(static_cast<int>(g.num_rules()))));
    if (kind == 3) return pick(3) == 0 ? g.empty() : g.literal(pick(2) ? "ab" : "ba");
    if (kind <= 5) {
      const auto min = static_cast<std::uint32_t>(pick(3));
      const auto max = pick(2) ? kUnbounded : min + static_cast<std::uint32_t>(pick(3));
      return g.repeat(node(g, depth - 1), min, std::max(max, 1u));
    }
    std::vector<NodeId> children;
    for (int i = 1 + pick(3); i > 0; --i) children.push_back(node(g, depth - 1));
    return kind <= 7 ? g.sequence(children) : g.choice(children);
  }

  std::mt19937 rng_;
};

TEST(Pushdown, AgreesWithTheOracleOnRandomGrammars) {
  int num_matches = 0;
  int num_grammars = 0;
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    RandomGrammar random(seed);
    const Grammar g = random.make();
    if (!Automaton::build(g).ok()) continue;
    ++num_grammars;
    Runner run(g);
    for (int t = 0; t < 20; ++t) {
      std::string text;
      for (int i = random.pick(8); i > 0; --i) text += static_cast<char>('a' + random.pick(3));
      const SpanOracle oracle(g, text);
      const bool matches = oracle.matches(text.size());
      num_matches += matches;
      ASSERT_EQ(run.feed(text) == 1, matches) << "seed " << seed << " text " << text;
    }
  }
  EXPECT_GT(num_grammars, 1000);
  EXPECT_GT(num_matches, 2000);
}

// From every configuration some bytes lead to a match, so a sampler that follows the grammar never gets
// stuck.
TEST(Pushdown, EveryConfigurationCanComplete) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    RandomGrammar random(seed);
    const Grammar g = random.make();
    if (!Automaton::build(g).ok()) continue;
    Runner run(g);
    run.pushdown->set_work(1'000'000'000);
    ConfigId c = run.pushdown->start();
    for (int i = 0; i < 50; ++i) {
      const ByteSet next = run.pushdown->first_bytes(c);
      if (next.empty()) {
        ASSERT_TRUE(run.pushdown->is_complete(c)) << seed;
        break;
      }
      std::vector<std::uint8_t> bytes;
      next.for_each([&](std::uint8_t b) { bytes.push_back(b); });
      c = run.pushdown->step(c, bytes[random.pick(static_cast<int>(bytes.size()))]);
      ASSERT_NE(c, Pushdown::kDead);
      ASSERT_NE(c, Pushdown::kFailed);
    }
  }
}

}  // namespace
}  // namespace kvasir::grammar

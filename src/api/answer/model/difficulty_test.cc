#include "api/answer/model/difficulty.h"

#include <gtest/gtest.h>

#include <string>

namespace kvasir::api {
namespace {

constexpr const char* kCode = R"(```cpp
template <class T> void push(T value) { std::lock_guard lock(mutex_); items_.push_back(value); }
```)";

bool is_hard(const QuestionTraits& traits) {
  return difficulty(traits) >= kHard;
}

TEST(Difficulty, ShortPlainQuestionsAreEasy) {
  for (const char* text : {"", "hi", "What is the capital of France?", "Translate 'good morning' to Italian.",
                           "Write a haiku about the sea.", "Wie heißt die Hauptstadt von Österreich?",
                           "Write a Python function that reverses a string.", "Explain photosynthesis."})
    EXPECT_FALSE(is_hard({.asked = text})) << text << ": " << difficulty({.asked = text});
}

TEST(Difficulty, ProofsPlansAndCodeAreHard) {
  const std::string fix = std::string("Why does this code deadlock?\n") + kCode;
  for (const std::string& text :
       {std::string("Prove step by step that the square root of 2 is irrational."), fix,
        std::string("Compare both designs, analyze their tradeoffs and justify a plan."),
        std::string("Debug and optimize this algorithm."), "Summarize:\n" + std::string(4000, 'x')})
    EXPECT_TRUE(is_hard({.asked = text})) << text << ": " << difficulty({.asked = text});
}

TEST(Difficulty, CodeIsSeenWithoutFences) {
  const char* code = "for (int i = 0; i < n; ++i) { sum += f(a[i]); } return sum;";
  EXPECT_GT(difficulty({.asked = code}), difficulty({.asked = std::string(60, 'x')}) + 0.25);
  EXPECT_GT(difficulty({.asked = "And now?", .earlier = kCode}), difficulty({.asked = "And now?"}) + 0.15);
}

TEST(Difficulty, TheRequestsOtherWishesCount) {
  const QuestionTraits plain{.asked = "What should I wear in Oslo today?"};
  const double easy = difficulty(plain);
  const auto with = [&](auto change) {
    QuestionTraits traits = plain;
    change(traits);
    return difficulty(traits);
  };
  EXPECT_GE(with([](QuestionTraits& t) { t.effort = "high"; }), kHard);
  EXPECT_GT(with([](QuestionTraits& t) { t.effort = "medium"; }), easy);
  EXPECT_GT(with([](QuestionTraits& t) { t.thinks = true; }), easy);
  EXPECT_GT(with([](QuestionTraits& t) { t.has_tools = true; }), easy);
  EXPECT_GT(with([](QuestionTraits& t) { t.has_server_tools = true; }), easy);
  EXPECT_GT(with([](QuestionTraits& t) { t.has_format = true; }), easy);
  EXPECT_GT(with([](QuestionTraits& t) { t.priority = 2; }), easy);
  EXPECT_EQ(with([](QuestionTraits& t) { t.priority = 100; }),
            with([](QuestionTraits& t) { t.priority = 2; }));
  EXPECT_FALSE(is_hard({.asked = "Prove that 2 is even.", .effort = "none"}));
  EXPECT_EQ(difficulty({.asked = "hi", .effort = "none"}), 0);
  EXPECT_EQ(difficulty({.asked = std::string("prove derive optimize debug") + kCode, .effort = "xhigh"}), 1);
  EXPECT_GT(difficulty({.asked = "a", .effort = "max"}), difficulty({.asked = "a", .effort = "high"}));
}

TEST(Difficulty, ReadsTheEndsOfALongTextAlone) {
  const std::string filler(100'000, ' ');
  const std::string half = filler.substr(0, filler.size() / 2);
  const double plain = difficulty({.asked = filler});
  EXPECT_EQ(difficulty({.asked = half + "prove " + kCode + half}), plain);
  EXPECT_GT(difficulty({.asked = filler + "prove"}), plain);
  EXPECT_GT(difficulty({.asked = "prove" + filler}), plain);
  EXPECT_GT(difficulty({.asked = filler + kCode}), plain);
}

TEST(Difficulty, PromptsOfTokensCountByTheirLength) {
  EXPECT_GT(difficulty({.asked = "", .num_token_bytes = 4000}), difficulty({.asked = ""}) + 0.3);
}

}  // namespace
}  // namespace kvasir::api

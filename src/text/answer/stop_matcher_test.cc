#include "text/answer/stop_matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace kvasir::text {
namespace {

struct Outcome {
  std::string text;
  std::optional<std::string> stop;
  bool operator==(const Outcome&) const = default;
};

Outcome feed(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopMatcher matcher(std::make_shared<const StopPatterns>(stops));
  Outcome outcome;
  for (const std::string& piece : pieces) outcome.text += matcher.push(piece);
  outcome.text += matcher.flush();
  outcome.stop = matcher.found();
  return outcome;
}

// Follows the definition: the stop that ends first wins, and the longest of those that end there.
Outcome expected(const std::vector<std::string>& stops, const std::string& text) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::string longest;
    for (const std::string& stop : stops) {
      const bool ends_here = !stop.empty() && text.substr(0, end).ends_with(stop);
      if (ends_here && stop.size() > longest.size()) longest = stop;
    }
    if (!longest.empty()) return {text.substr(0, end - longest.size()), longest};
  }
  return {text, std::nullopt};
}

const std::vector<std::vector<std::string>> kStops = {
    {"stop"}, {"aab"}, {"abab", "ba"}, {"\n\n", "\nUser:"}, {"b", "aab"}, {"", "é"}, {}, {"aaaa", "ab"}};
const std::vector<std::string> kTexts = {
    "",           "some text", "text stop more",   "aaaaab", "ababab", "sto",
    "line\nUser", "a\nUser:x", "caf\xC3\xA9 noir", "aaab",   "ststop", "stostop"};

TEST(StopMatcher, FindsTheSameStopHoweverTheTextIsCut) {
  for (const auto& stops : kStops) {
    for (const std::string& text : kTexts) {
      const Outcome whole = expected(stops, text);
      for (std::size_t first = 0; first <= text.size(); ++first) {
        for (std::size_t second = first; second <= text.size(); ++second) {
          EXPECT_EQ(
              feed(stops, {text.substr(0, first), text.substr(first, second - first), text.substr(second)}),
              whole)
              << text;
        }
      }
      std::vector<std::string> bytes;
      for (const char c : text) bytes.emplace_back(1, c);
      EXPECT_EQ(feed(stops, bytes), whole) << text;
    }
  }
}

TEST(StopMatcher, HoldsBackOnlyWhatCouldBecomeAStop) {
  for (const auto& stops : kStops) {
    for (const std::string& text : kTexts) {
      StopMatcher matcher(std::make_shared<const StopPatterns>(stops));
      std::string given;
      for (std::size_t i = 0; i < text.size() && !matcher.found(); ++i) {
        given += matcher.push(text.substr(i, 1));
        if (matcher.found()) break;
        const std::string seen = text.substr(0, i + 1);
        std::size_t longest = 0;
        for (const std::string& stop : stops) {
          for (std::size_t size = 1; size < stop.size(); ++size) {
            if (seen.ends_with(stop.substr(0, size))) longest = std::max(longest, size);
          }
        }
        EXPECT_EQ(given.size(), seen.size() - longest);
      }
    }
  }
}

TEST(StopMatcher, GivesNothingAfterAStop) {
  StopMatcher matcher(std::make_shared<const StopPatterns>(std::vector<std::string>{"x"}));
  EXPECT_EQ(matcher.push("axb"), "a");
  EXPECT_EQ(matcher.push("more"), "");
  EXPECT_EQ(matcher.flush(), "");
  EXPECT_EQ(matcher.found(), "x");
}

TEST(StopMatcher, StreamsShareThePatternsAndNothingElse) {
  const auto patterns = std::make_shared<const StopPatterns>(std::vector<std::string>{"abc"});
  StopMatcher one(patterns);
  StopMatcher other(patterns);
  EXPECT_EQ(one.push("ab"), "");
  EXPECT_EQ(other.push("c"), "c");
  EXPECT_EQ(one.push("c"), "");
  EXPECT_TRUE(one.found());
  EXPECT_FALSE(other.found());
}

}  // namespace
}  // namespace kvasir::text

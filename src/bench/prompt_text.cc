#include "bench/prompt_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace kvasir::bench {

namespace {

constexpr std::array<std::string_view, 160> kWords = {
    "time",   "year",     "people", "way",       "day",     "man",       "thing",     "woman",    "life",
    "child",  "world",    "school", "state",     "family",  "group",     "country",   "problem",  "hand",
    "part",   "place",    "case",   "week",      "company", "system",    "program",   "question", "work",
    "number", "night",    "point",  "home",      "water",   "room",      "mother",    "area",     "money",
    "story",  "fact",     "month",  "lot",       "right",   "study",     "book",      "eye",      "job",
    "word",   "business", "issue",  "side",      "kind",    "head",      "house",     "service",  "friend",
    "father", "power",    "hour",   "game",      "line",    "end",       "member",    "law",      "car",
    "city",   "name",     "team",   "minute",    "idea",    "body",      "back",      "parent",   "face",
    "others", "level",    "office", "door",      "health",  "person",    "art",       "war",      "history",
    "party",  "result",   "change", "morning",   "reason",  "research",  "girl",      "guy",      "moment",
    "air",    "teacher",  "force",  "education", "foot",    "boy",       "age",       "policy",   "music",
    "market", "small",    "large",  "next",      "early",   "young",     "important", "few",      "public",
    "bad",    "same",     "able",   "good",      "new",     "first",     "last",      "long",     "great",
    "little", "own",      "other",  "old",       "high",    "different", "local",     "sure",     "black",
    "white",  "real",     "best",   "free",      "with",    "about",     "into",      "over",     "after",
    "under",  "between",  "out",    "against",   "during",  "without",   "before",    "under",    "around",
    "among",  "say",      "get",    "make",      "know",    "think",     "take",      "see",      "come",
    "want",   "look",     "use",    "find",      "give",    "tell",      "call"};

}  // namespace

int TokenScale::words_for(int tokens) const {
  return std::max(1, static_cast<int>(std::lround((tokens - overhead_tokens) / tokens_per_word)));
}

std::string random_words(Random& random, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += ' ';
    text += kWords[random.below(kWords.size())];
  }
  return text;
}

}  // namespace kvasir::bench

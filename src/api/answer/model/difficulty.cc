#include "api/answer/model/difficulty.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>

namespace kvasir::api {

namespace {

struct Word {
  std::string_view text;
  double weight;
};

// Words that ask for thought weigh much. Words of subjects that often need thought weigh little.
constexpr double kMuch = 0.3;
constexpr double kLittle = 0.12;
constexpr auto kWords = std::to_array<Word>({
    {"algorithm", kMuch},      {"analyse", kLittle},     {"analyze", kLittle},     {"architecture", kMuch},
    {"argue", kLittle},        {"assess", kLittle},      {"bug", kLittle},         {"calculate", kLittle},
    {"carefully", kLittle},    {"code", kLittle},        {"compare", kLittle},     {"complexity", kMuch},
    {"concurrency", kMuch},    {"contradiction", kMuch}, {"critique", kLittle},    {"deadlock", kMuch},
    {"debug", kMuch},          {"derivative", kLittle},  {"derive", kMuch},        {"design", kLittle},
    {"diagnose", kMuch},       {"equation", kLittle},    {"error", kLittle},       {"estimate", kLittle},
    {"evaluate", kLittle},     {"explain", kLittle},     {"function", kLittle},    {"implement", kLittle},
    {"implications", kLittle}, {"integral", kLittle},    {"investigate", kLittle}, {"javascript", kLittle},
    {"justify", kLittle},      {"optimise", kMuch},      {"optimize", kMuch},      {"plan", kLittle},
    {"probability", kLittle},  {"program", kLittle},     {"proof", kMuch},         {"prove", kMuch},
    {"puzzle", kLittle},       {"python", kLittle},      {"reason", kLittle},      {"refactor", kMuch},
    {"regex", kLittle},        {"review", kLittle},      {"rust", kLittle},        {"script", kLittle},
    {"solve", kLittle},        {"sql", kLittle},         {"step", kLittle},        {"strategy", kLittle},
    {"summarise", kLittle},    {"summarize", kLittle},   {"theorem", kMuch},       {"thoroughly", kLittle},
    {"tradeoff", kMuch},       {"tradeoffs", kMuch},     {"why", kLittle},
});

// A hash table of the words, so that each word of a text is looked up once. About 1/8 of its slots are taken.
constexpr std::size_t kSlots = 512;
constexpr std::uint8_t kNoWord = 255;
constexpr std::uint32_t kHashBegin = 2166136261u;
constexpr std::uint32_t add_letter(std::uint32_t hash, char letter) {
  return (hash ^ static_cast<unsigned char>(letter)) * 16777619u;
}
constexpr std::size_t slot_of(std::uint32_t hash) {
  return (hash ^ (hash >> 16)) % kSlots;
}
constexpr auto kSlotWords = [] {
  std::array<std::uint8_t, kSlots> slots{};
  slots.fill(kNoWord);
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    std::uint32_t hash = kHashBegin;
    for (const char letter : kWords[i].text) hash = add_letter(hash, letter);
    std::size_t slot = slot_of(hash);
    while (slots[slot] != kNoWord) slot = (slot + 1) % kSlots;
    slots[slot] = static_cast<std::uint8_t>(i);
  }
  return slots;
}();

enum class CharKind : std::uint8_t { other, letter, sign };
constexpr auto kKinds = [] {
  std::array<CharKind, 256> kinds{};
  for (char c = 'a'; c <= 'z'; ++c) kinds[static_cast<std::size_t>(c)] = CharKind::letter;
  for (char c = 'A'; c <= 'Z'; ++c) kinds[static_cast<std::size_t>(c)] = CharKind::letter;
  for (const char c : std::string_view("{}();=<>[]")) kinds[static_cast<std::size_t>(c)] = CharKind::sign;
  return kinds;
}();

CharKind kind_of(char c) {
  return kKinds[static_cast<unsigned char>(c)];
}

// What a text has that makes a question difficult.
struct Marks {
  std::bitset<kWords.size()> words;  // the words of `kWords` that the text has
  std::size_t num_bytes = 0;         // bytes read
  int num_signs = 0;                 // characters that are frequent in code
  bool has_fence = false;            // the text has three backticks

  bool has_code() const {
    const auto signs = static_cast<std::size_t>(num_signs);
    return has_fence || (num_signs >= 8 && signs * 25 >= num_bytes);
  }
};

void mark_word(std::string_view word, std::uint32_t hash, Marks& marks) {
  const auto same = [](char a, char b) { return (a | 0x20) == b; };
  for (std::size_t slot = slot_of(hash); kSlotWords[slot] != kNoWord; slot = (slot + 1) % kSlots)
    if (std::ranges::equal(word, kWords[kSlotWords[slot]].text, same)) marks.words.set(kSlotWords[slot]);
}

// Reads the text once. A word is a run of ASCII letters; a text in a language without these counts only by
// its length and signs.
void read(std::string_view text, Marks& marks) {
  marks.num_bytes += text.size();
  marks.has_fence = marks.has_fence || text.find("```") != text.npos;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const CharKind kind = kind_of(text[i]);
    if (kind == CharKind::sign) ++marks.num_signs;
    if (kind != CharKind::letter) continue;
    const std::size_t begin = i;
    std::uint32_t hash = kHashBegin;
    for (; i < text.size() && kind_of(text[i]) == CharKind::letter; ++i)
      hash = add_letter(hash, static_cast<char>(text[i] | 0x20));
    mark_word(text.substr(begin, i - begin), hash, marks);
    --i;
  }
}

Marks marks_of(std::string_view text) {
  Marks marks;
  if (text.size() <= 2 * kReadBytes) {
    read(text, marks);
  } else {
    read(text.substr(0, kReadBytes), marks);
    read(text.substr(text.size() - kReadBytes), marks);
  }
  return marks;
}

double part_of(std::size_t bytes, double whole) {
  return std::min(1.0, static_cast<double>(bytes) / whole);
}

double by_text(const QuestionTraits& traits) {
  constexpr double kMostOfWords = 0.6;
  const Marks asked = marks_of(traits.asked);
  double words = 0;
  for (std::size_t i = 0; i < kWords.size(); ++i)
    if (asked.words[i]) words += kWords[i].weight;
  double sum = std::min(kMostOfWords, words);
  sum += 0.35 * part_of(traits.asked.size() + traits.num_token_bytes, 4000);
  sum += 0.1 * part_of(traits.earlier.size(), 16000);
  if (asked.has_code())
    sum += 0.3;
  else if (marks_of(traits.earlier).has_code())
    sum += 0.2;
  return sum;
}

double by_effort(std::string_view effort) {
  constexpr std::array<Word, 7> kEfforts = {Word{"none", -0.4}, {"minimal", -0.3}, {"low", -0.15},
                                            {"medium", 0.15},   {"high", 0.4},     {"xhigh", 0.6},
                                            {"max", 0.7}};
  const auto* const found = std::ranges::find(kEfforts, effort, &Word::text);
  return found == kEfforts.end() ? 0 : found->weight;
}

}  // namespace

double difficulty(const QuestionTraits& traits) {
  double sum = by_text(traits) + by_effort(traits.effort);
  if (traits.thinks) sum += 0.2;
  if (traits.has_tools) sum += 0.2;
  if (traits.has_server_tools) sum += 0.2;
  if (traits.has_format) sum += 0.1;
  sum += 0.1 * std::clamp(traits.priority, -2, 2);
  return std::clamp(sum, 0.0, 1.0);
}

}  // namespace kvasir::api

#include "api/http/service/request_id.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "base/random_bytes.h"

namespace kvasir::api {

namespace {

// Random bytes from kFairBytes on are skipped, so that every letter is equally likely.
constexpr std::string_view kAlphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::size_t kFairBytes = 256 / kAlphabet.size() * kAlphabet.size();

std::string random_letters(std::size_t length) {
  std::string letters;
  while (letters.size() < length) {
    std::array<std::byte, 32> bytes{};
    const auto drawn = std::span(bytes).first(std::min(bytes.size(), length - letters.size()));
    base::fill_random(drawn);
    for (const std::byte byte : drawn) {
      const auto value = std::to_integer<std::size_t>(byte);
      if (value < kFairBytes) letters += kAlphabet[value % kAlphabet.size()];
    }
  }
  return letters;
}

}  // namespace

std::string make_id(std::string_view prefix) {
  return std::string(prefix) + "-" + random_letters(24);
}

std::string make_answer_id(std::string_view prefix) {
  return std::string(prefix) + random_letters(24);
}

std::string make_call_id(text::ToolSyntax syntax) {
  return syntax == text::ToolSyntax::mistral ? random_letters(9) : "call_" + random_letters(24);
}

std::uint64_t draw_seed() {
  return base::random_uint64();
}

std::uint64_t choice_seed(std::uint64_t seed, int index) {
  if (index == 0) return seed;
  // The last steps of splitmix64 make unrelated seeds from neighbouring indices.
  std::uint64_t x = seed + static_cast<std::uint64_t>(index) * 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace kvasir::api

#include "api/request_id.h"

#include <random>

namespace kvasir::api {

namespace {

std::mt19937_64 seeded() {
  std::random_device device;
  std::seed_seq seq{device(), device(), device(), device()};
  return std::mt19937_64(seq);
}

std::mt19937_64& generator() {
  thread_local std::mt19937_64 own = seeded();
  return own;
}

std::string random_letters(int length) {
  constexpr std::string_view kAlphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::uniform_int_distribution<std::size_t> any(0, kAlphabet.size() - 1);
  std::string letters;
  for (int i = 0; i < length; ++i) letters += kAlphabet[any(generator())];
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
  return generator()();
}

std::uint64_t choice_seed(std::uint64_t seed, int index) {
  if (index == 0) return seed;
  // splitmix64's finisher: neighbouring indices become unrelated seeds.
  std::uint64_t x = seed + static_cast<std::uint64_t>(index) * 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace kvasir::api

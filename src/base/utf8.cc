#include "base/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace kvasir::base {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Lead {
  std::size_t size = 0;  // 0: not a lead byte
  unsigned char second_min = 0x80;
  unsigned char second_max = 0xBF;
};

// The bounds on the second byte exclude overlong forms, surrogates and values above U+10FFFF.
Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {.size = 1};
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {.size = 2};
  if (byte == 0xE0) return {.size = 3, .second_min = 0xA0};
  if (byte == 0xED) return {.size = 3, .second_max = 0x9F};
  if (byte < 0xF0) return {.size = 3};
  if (byte == 0xF0) return {.size = 4, .second_min = 0x90};
  if (byte < 0xF4) return {.size = 4};
  if (byte == 0xF4) return {.size = 4, .second_max = 0x8F};
  return {};
}

}  // namespace

Utf8Step utf8_step(std::string_view bytes) {
  using Kind = Utf8Step::Kind;
  const auto first = static_cast<unsigned char>(bytes[0]);
  const Lead lead = lead_of(first);
  if (lead.size == 0) return {Kind::invalid, 1, 0};
  if (lead.size == 1) return {Kind::character, 1, first};
  char32_t value = first & (0xFFu >> (lead.size + 1));
  for (std::size_t i = 1; i < lead.size; ++i) {
    if (i == bytes.size()) return {Kind::incomplete, i, 0};
    const auto byte = static_cast<unsigned char>(bytes[i]);
    const unsigned char min = i == 1 ? lead.second_min : 0x80;
    const unsigned char max = i == 1 ? lead.second_max : 0xBF;
    if (byte < min || byte > max) return {Kind::invalid, i, 0};
    value = (value << 6) | (byte & 0x3Fu);
  }
  return {Kind::character, lead.size, value};
}

std::size_t utf8_valid_prefix(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    constexpr std::uint64_t kHighBits = 0x8080808080808080ull;
    std::uint64_t eight = 0;
    if (at + sizeof(eight) <= bytes.size()) {
      std::memcpy(&eight, bytes.data() + at, sizeof(eight));
      if ((eight & kHighBits) == 0) {
        at += sizeof(eight);
        continue;
      }
    }
    if (static_cast<unsigned char>(bytes[at]) < 0x80) {
      ++at;
      continue;
    }
    const Utf8Step step = utf8_step(bytes.substr(at));
    if (step.kind != Utf8Step::Kind::character) break;
    at += step.size;
  }
  return at;
}

std::size_t num_characters(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(
      utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

void append_utf8(char32_t character, std::string& out) {
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (character < 0x80) {
    put(character);
  } else if (character < 0x800) {
    put(0xC0 | (character >> 6));
    put(0x80 | (character & 0x3F));
  } else if (character < 0x10000) {
    put(0xE0 | (character >> 12));
    put(0x80 | ((character >> 6) & 0x3F));
    put(0x80 | (character & 0x3F));
  } else {
    put(0xF0 | (character >> 18));
    put(0x80 | ((character >> 12) & 0x3F));
    put(0x80 | ((character >> 6) & 0x3F));
    put(0x80 | (character & 0x3F));
  }
}

void Utf8Repair::push(std::string_view bytes, std::string& out) {
  std::string joined;
  if (!held_.empty()) {
    joined = held_;
    joined += bytes;
    bytes = joined;
    held_.clear();
  }
  while (!bytes.empty()) {
    const std::size_t valid = utf8_valid_prefix(bytes);
    out += bytes.substr(0, valid);
    bytes.remove_prefix(valid);
    if (bytes.empty()) return;
    const Utf8Step step = utf8_step(bytes);
    if (step.kind == Utf8Step::Kind::incomplete) {
      held_ = bytes;
      return;
    }
    out += kReplacement;
    bytes.remove_prefix(step.size);
  }
}

void Utf8Repair::finish(std::string& out) {
  if (!held_.empty()) out += kReplacement;
  held_.clear();
}

}  // namespace kvasir::base

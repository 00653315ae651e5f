#include "text/tokenizer/byte_level.h"

#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace kvasir::text {
namespace {

// Printable Latin-1 characters spell themselves. The other 68 bytes, in order, are spelled from U+0100 on.
constexpr bool spells_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

constexpr int kAlphabetEnd = 0x144;

constexpr std::array<std::int16_t, kAlphabetEnd> make_alphabet() {
  std::array<std::int16_t, kAlphabetEnd> byte_of{};
  for (auto& byte : byte_of) byte = -1;
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    byte_of[spells_itself(byte) ? byte : next++] = static_cast<std::int16_t>(byte);
  }
  return byte_of;
}

constexpr auto kByteOf = make_alphabet();

}  // namespace

std::string spelling_of_byte(unsigned char byte) {
  int character = 0;
  while (kByteOf[character] != byte) ++character;
  std::string spelling;
  base::append_utf8(static_cast<char32_t>(character), spelling);
  return spelling;
}

std::optional<std::string> bytes_of_spelling(std::string_view spelling) {
  std::string bytes;
  bytes.reserve(spelling.size());
  if (!append_bytes_of_spelling(spelling, bytes)) return std::nullopt;
  return bytes;
}

bool append_bytes_of_spelling(std::string_view spelling, std::string& bytes) {
  while (!spelling.empty()) {
    const auto first = static_cast<unsigned char>(spelling.front());
    if (first < 0x80) {
      if (kByteOf[first] < 0) return false;
      bytes.push_back(spelling.front());
      spelling.remove_prefix(1);
      continue;
    }
    const base::Utf8Step step = base::utf8_step(spelling);
    if (step.kind != base::Utf8Step::Kind::character || step.value >= kAlphabetEnd) return false;
    const std::int16_t byte = kByteOf[step.value];
    if (byte < 0) return false;
    bytes.push_back(static_cast<char>(byte));
    spelling.remove_prefix(step.size);
  }
  return true;
}

std::optional<char> byte_of_name(std::string_view name) {
  if (name.size() != 6 || !name.starts_with("<0x") || name.back() != '>') return std::nullopt;
  int value = 0;
  for (const char c : name.substr(3, 2)) {
    const std::size_t digit = std::string_view("0123456789ABCDEF").find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    value = value * 16 + static_cast<int>(digit);
  }
  return static_cast<char>(value);
}

}  // namespace kvasir::text

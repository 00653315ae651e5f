#include "fleet/base64.h"

#include <cstdint>

namespace kvasir::fleet {

namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string encode_base64(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0);
    for (std::size_t i = 0; i < 4; ++i) text += i <= group.size() ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

base::Result<std::string> decode_base64(std::string_view text) {
  const auto bad = [] { return base::error(base::ErrorCode::corrupt, "this is not base64"); };
  if (text.size() % 4 != 0) return bad();
  std::string bytes;
  while (!text.empty()) {
    std::string_view group = text.substr(0, 4);
    text.remove_prefix(4);
    if (text.empty())
      while (group.size() > 2 && group.ends_with('=')) group.remove_suffix(1);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t digit = i < group.size() ? kDigits.find(group[i]) : 0;
      if (digit == std::string_view::npos) return bad();
      bits = bits << 6 | static_cast<std::uint32_t>(digit);
    }
    for (std::size_t i = 0; i + 1 < group.size(); ++i) bytes += static_cast<char>(bits >> (16 - 8 * i));
  }
  return bytes;
}

}  // namespace kvasir::fleet

#include "text/tokenizer/chars_map.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>

#include "base/utf8.h"

namespace kvasir::text {

using base::ErrorCode;

namespace {

// The functions below read the fields of a unit of the double array.
bool has_leaf(std::uint32_t unit) {
  return ((unit >> 8) & 1) != 0;
}
std::uint32_t value(std::uint32_t unit) {
  return unit & 0x7FFFFFFFu;
}
std::uint32_t label(std::uint32_t unit) {
  return unit & 0x800000FFu;
}
std::uint32_t offset(std::uint32_t unit) {
  return (unit >> 10) << ((unit & (1u << 9)) >> 6);
}

// The size in bytes of the longest cluster that is replaced as a whole, as in Hugging Face's library.
constexpr std::size_t kMaxCluster = 5;

}  // namespace

base::Result<CharsMap> CharsMap::parse(std::string_view bytes) {
  std::uint32_t trie_bytes = 0;
  if (bytes.size() < 4) return base::error(ErrorCode::corrupt, "the compiled normalization is cut off");
  std::memcpy(&trie_bytes, bytes.data(), 4);
  bytes.remove_prefix(4);
  if (trie_bytes > bytes.size() || trie_bytes % 4 != 0 || trie_bytes == 0)
    return base::error(ErrorCode::corrupt, "the compiled normalization has {} bytes and a trie of {}",
                       bytes.size(), trie_bytes);
  std::vector<std::uint32_t> units(trie_bytes / 4);
  std::memcpy(units.data(), bytes.data(), trie_bytes);
  std::string replacements(bytes.substr(trie_bytes));
  if (base::utf8_valid_prefix(replacements) != replacements.size())
    return base::error(ErrorCode::corrupt, "the compiled normalization is not UTF-8");
  return CharsMap(std::move(units), std::move(replacements));
}

bool CharsMap::append_replacement(std::string_view text, std::string& out) const {
  std::size_t node = offset(units_[0]);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) return false;
    node ^= byte;
    if (node >= units_.size() || label(units_[node]) != byte) return false;
    const bool leaf = has_leaf(units_[node]);
    node ^= offset(units_[node]);
    if (!leaf) continue;
    if (node >= units_.size()) return false;
    const std::size_t begin = value(units_[node]);
    if (begin >= replacements_.size()) return begin == replacements_.size();
    if ((static_cast<unsigned char>(replacements_[begin]) & 0xC0) == 0x80)
      return false;  // inside a character
    const std::string_view replacement = std::string_view(replacements_).substr(begin);
    out += replacement.substr(0, replacement.find('\0'));
    return true;
  }
  return false;
}

std::size_t CharsMap::longest_replacement() const {
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < replacements_.size();) {
    const std::size_t end = std::min(replacements_.find('\0', begin), replacements_.size());
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  return longest;
}

std::string CharsMap::normalize(std::string_view text) const {
  std::string normal;
  normal.reserve(text.size());
  const auto map_each = [&](std::string_view cluster) {
    while (!cluster.empty()) {
      const std::string_view character = cluster.substr(0, base::utf8_step(cluster).size);
      if (!append_replacement(character, normal)) normal += character;
      cluster.remove_prefix(character.size());
    }
  };
  while (!text.empty()) {
    base::Utf8Step step = base::utf8_step(text);
    std::size_t size = step.size;
    auto previous = static_cast<utf8proc_int32_t>(step.value);
    utf8proc_int32_t state = 0;
    while (size < text.size()) {
      step = base::utf8_step(text.substr(size));
      const auto next = static_cast<utf8proc_int32_t>(step.value);
      if (utf8proc_grapheme_break_stateful(previous, next, &state)) break;
      previous = next;
      size += step.size;
    }
    const std::string_view cluster = text.substr(0, size);
    if (size > kMaxCluster || !append_replacement(cluster, normal)) map_each(cluster);
    text.remove_prefix(size);
  }
  return normal;
}

base::Result<std::string> decode_base64(std::string_view text) {
  const auto digit = [](char c) -> int {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+') return 62;
    return c == '/' ? 63 : -1;
  };
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  int num_bits = 0;
  for (const char c : text) {
    if (digit(c) < 0) return base::error(ErrorCode::corrupt, "'{}' is not base64", c);
    bits = (bits << 6) | static_cast<std::uint32_t>(digit(c));
    num_bits += 6;
    if (num_bits < 8) continue;
    num_bits -= 8;
    bytes.push_back(static_cast<char>((bits >> num_bits) & 0xFF));
  }
  return bytes;
}

}  // namespace kvasir::text

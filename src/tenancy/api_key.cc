#include "tenancy/api_key.h"

#include <openssl/sha.h>

#include <span>

#include "base/random_bytes.h"

namespace kvasir::tenancy {

namespace {

constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::size_t kNumKeyDigits = 44;
constexpr std::size_t kNumIdDigits = 20;

std::string random_digits(std::size_t count) {
  constexpr unsigned kNumFair = 256 / kDigits.size() * kDigits.size();
  std::string text;
  while (text.size() < count) {
    std::array<std::byte, 64> bytes;
    base::fill_random(bytes);
    for (const std::byte byte : bytes) {
      const auto value = std::to_integer<unsigned>(byte);
      // Only bytes below the largest multiple of the number of digits are used; otherwise the first digits
      // would be likelier.
      if (value < kNumFair && text.size() < count) text += kDigits[value % kDigits.size()];
    }
  }
  return text;
}

}  // namespace

KeyHash hash_key(std::string_view text) {
  KeyHash hash;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data());
  return hash;
}

std::string hex_of(const KeyHash& hash) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  text.reserve(2 * hash.size());
  for (const unsigned char byte : hash) {
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

std::string make_key_text() {
  return std::string(kKeyPrefix) + random_digits(kNumKeyDigits);
}

std::string make_key_id() {
  return "key_" + random_digits(kNumIdDigits);
}

}  // namespace kvasir::tenancy

#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace kvasir::tenancy {

inline constexpr std::string_view kKeyPrefix = "kv-";
inline constexpr std::size_t kMaxKeyBytes = 256;  // of what a client may show as one

// SHA-256 of a key's text. Texts have 256 random bits, so that a hash needs neither salt nor slowness.
using KeyHash = std::array<unsigned char, 32>;
KeyHash hash_key(std::string_view text);
// As the store keeps it: lower-case hexadecimal.
std::string hex_of(const KeyHash& hash);

// A new key: "kv-" and 44 random letters and digits, which are 261 bits.
std::string make_key_text();
// "key_" and 20 of them.
std::string make_key_id();

}  // namespace kvasir::tenancy

#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace kvasir::tenancy {

inline constexpr std::string_view kKeyPrefix = "kv-";
inline constexpr std::size_t kMaxKeyBytes = 256;  // longest text of a client that is looked up as a key

// SHA-256 of a key's text. Texts have 256 random bits, so the hash needs no salt and may be fast.
using KeyHash = std::array<unsigned char, 32>;
KeyHash hash_key(std::string_view text);
// The form that the store keeps: lower-case hexadecimal.
std::string hex_of(const KeyHash& hash);

// A new key: "kv-" and 44 random letters and digits, which are 261 bits.
std::string make_key_text();
// A new id: "key_" and 20 random letters and digits.
std::string make_key_id();

}  // namespace kvasir::tenancy

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kvasir::text {

// GPT-2's spelling of bytes: each of the 256 is one printable character, so that tokens can be written in
// JSON.
std::string spelling_of_byte(unsigned char byte);

// The bytes of such a spelling; absent if a character is not in the alphabet.
std::optional<std::string> bytes_of_spelling(std::string_view spelling);
// Appends the bytes to `bytes`. If it returns false, some of them may have been appended.
bool append_bytes_of_spelling(std::string_view spelling, std::string& bytes);

// The byte of a sentencepiece byte token such as "<0x0A>"; absent for other names.
std::optional<char> byte_of_name(std::string_view name);

}  // namespace kvasir::text

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kvasir::text {

// Returns GPT-2's spelling of a byte. Each of the 256 bytes is one printable character, so that tokens can be
// written in JSON.
std::string spelling_of_byte(unsigned char byte);

// Returns the bytes of such a spelling; absent if a character is not in the alphabet.
std::optional<std::string> bytes_of_spelling(std::string_view spelling);
// As bytes_of_spelling, but appends to `bytes`. If it returns false, some of the bytes may have been
// appended.
bool append_bytes_of_spelling(std::string_view spelling, std::string& bytes);

// Returns the byte of a sentencepiece byte token such as "<0x0A>"; absent for other names.
std::optional<char> byte_of_name(std::string_view name);

}  // namespace kvasir::text

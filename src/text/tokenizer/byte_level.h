#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kvasir::text {

// GPT-2's spelling of bytes: each of the 256 is one printable character, so that tokens can stand in JSON.
std::string spelling_of_byte(unsigned char byte);

// Raw bytes of such a spelling, or nothing where a character is not of the alphabet.
std::optional<std::string> bytes_of_spelling(std::string_view spelling);
// The same after `bytes`; where it is false, a part of them may have been added.
bool append_bytes_of_spelling(std::string_view spelling, std::string& bytes);

// The byte of a sentencepiece byte token, "<0x0A>", or nothing.
std::optional<char> byte_of_name(std::string_view name);

}  // namespace kvasir::text

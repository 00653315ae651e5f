#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "grammar/codepoint_set.h"
#include "grammar/grammar.h"

namespace kvasir::grammar {

// How a character of a pattern becomes bytes of output.
enum class CharEncoding {
  plain,  // UTF-8
  json,   // inside a JSON string: UTF-8 with the escapes that must be, each character in one way only
};

// One character of the set.
NodeId char_node(Grammar& grammar, const CodepointSet& set, CharEncoding encoding);

// The same of CharEncoding::json, where what most large sets have in common is rules that the whole grammar
// shares: small where there are many such sets, but a loop over it is not one that masks are fast for.
NodeId compact_char_node(Grammar& grammar, const CodepointSet& set);

// One character of a JSON string in any way that JSON allows, surrogate escapes only as pairs.
NodeId json_any_char(Grammar& grammar);

// The characters of valid UTF-8, or none.
std::optional<std::u32string> decode_utf8(std::string_view text);
void append_utf8(std::string& out, std::uint32_t codepoint);

// The text in quotes, as CharEncoding::json writes it.
std::string json_quoted(std::string_view text);

}  // namespace kvasir::grammar

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "grammar/codepoint_set.h"
#include "grammar/grammar.h"

namespace kvasir::grammar {

// How a character of a pattern is encoded in the output.
enum class CharEncoding {
  plain,  // UTF-8
  json,   // inside a JSON string: UTF-8 with necessary escapes only, so each character has one form
};

// One character of the set.
NodeId char_node(Grammar& grammar, const CodepointSet& set, CharEncoding encoding);

// As above, for CharEncoding::json, but parts that most large sets have in common become rules that the whole
// grammar shares. The grammar stays small even with many such sets, but masks are not fast for a loop over
// such a node.
NodeId compact_char_node(Grammar& grammar, const CodepointSet& set);

// One character of a JSON string in any form that JSON allows. Surrogate escapes come only in pairs.
NodeId json_any_char(Grammar& grammar);

// The characters of a UTF-8 text; absent if it is invalid.
std::optional<std::u32string> decode_utf8(std::string_view text);
void append_utf8(std::string& out, std::uint32_t codepoint);

// The text in quotes, with the escapes of CharEncoding::json.
std::string json_quoted(std::string_view text);

}  // namespace kvasir::grammar

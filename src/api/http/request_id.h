#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/answer/tool_syntax.h"

namespace kvasir::api {

// "<prefix>-" and 24 random letters and digits. Thread-safe.
std::string make_id(std::string_view prefix);

// `prefix` and 24 random letters and digits, for ids whose separator is not a dash. Thread-safe.
std::string make_answer_id(std::string_view prefix);

// Of a call of a tool. Mistral's templates want nine letters and digits. Thread-safe.
std::string make_call_id(text::ToolSyntax syntax);

// For a client that gave no seed. Thread-safe.
std::uint64_t draw_seed();

// The seed of choice `index` of a request: choice 0 has the request's own, so that n does not change it.
std::uint64_t choice_seed(std::uint64_t seed, int index);

}  // namespace kvasir::api

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/answer/tool_syntax.h"

namespace kvasir::api {

// Returns "<prefix>-" and 24 random letters and digits. Thread-safe.
std::string make_id(std::string_view prefix);

// Returns `prefix` and 24 random letters and digits. The prefix has its own separator. Thread-safe.
std::string make_answer_id(std::string_view prefix);

// Returns an id for a tool call. Mistral's templates need nine letters and digits. Thread-safe.
std::string make_call_id(text::ToolSyntax syntax);

// Returns a random seed for a client that gave none. Thread-safe.
std::uint64_t draw_seed();

// The seed of choice `index` of a request. Choice 0 has the request's own seed, so that n does not change it.
std::uint64_t choice_seed(std::uint64_t seed, int index);

}  // namespace kvasir::api

#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "grammar/grammar.h"

namespace kvasir::grammar {

// Exactly one of the given texts.
base::Result<Grammar> grammar_of_choice(std::span<const std::string> texts);

}  // namespace kvasir::grammar

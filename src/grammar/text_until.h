#pragma once

#include <string_view>

#include "grammar/grammar.h"

namespace kvasir::grammar {

// Any bytes up to and including the first `marker`, which must not be empty.
NodeId text_until(Grammar& grammar, std::string_view marker);

// Any bytes, possibly none, that do not contain `marker`.
NodeId text_without(Grammar& grammar, std::string_view marker);

}  // namespace kvasir::grammar

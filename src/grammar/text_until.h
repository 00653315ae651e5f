#pragma once

#include <string_view>

#include "grammar/grammar.h"

namespace kvasir::grammar {

// Any bytes up to and with the first `marker`, which is not empty.
NodeId text_until(Grammar& grammar, std::string_view marker);

// Any bytes, also none, among which `marker` does not stand.
NodeId text_without(Grammar& grammar, std::string_view marker);

}  // namespace kvasir::grammar

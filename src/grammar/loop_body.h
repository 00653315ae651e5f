#pragma once

#include <optional>

#include "grammar/automaton.h"

namespace kvasir::grammar {

// Makes the automaton of a node without references and repetitions. Absent if the node is not prefix-free or
// needs too many states.
std::optional<LoopBody> make_loop_body(const Grammar& grammar, NodeId node);

int num_first_bytes(const LoopBody& body);

}  // namespace kvasir::grammar

#pragma once

#include <string>

#include "hub/library.h"

namespace kvasir::host {

// A hash of the program and of the weights' files: of their digests where a catalogue has them, and otherwise
// of pieces of them.
std::string fingerprint_of(const hub::Model& model);

}  // namespace kvasir::host

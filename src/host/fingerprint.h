#pragma once

#include <string>

#include "hub/library.h"

namespace kvasir::host {

// A hash of the program and of the weights: the files' digests if a catalogue has them, or else pieces of the
// files.
std::string fingerprint_of(const hub::Model& model);

}  // namespace kvasir::host

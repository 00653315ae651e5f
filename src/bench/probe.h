#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/target.h"

namespace kvasir::bench {

// Properties of a server, found out before the load.
struct Probe {
  bool counts_tokens = false;  // the server's streams end with usage
  TokenScale scale;
  std::vector<std::string> notes;  // for people: features that the server does not have
};

// Chooses a model if the target names none, finds out which fields the server accepts, and measures how many
// tokens made-up words have on the server. Blocks for a few short requests.
base::Result<Probe> probe(Target& target, std::stop_token stop);

}  // namespace kvasir::bench

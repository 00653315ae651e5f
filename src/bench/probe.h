#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/target.h"

namespace kvasir::bench {

// What is found out about a server before it is put under load.
struct Probe {
  bool counts_tokens = false;  // its streams end with a usage
  TokenScale scale;
  std::vector<std::string> notes;  // for people: what it does not know
};

// Chooses the model where the target names none, finds the dialect that the server takes, and measures how
// many tokens our words are for it. Blocking; a handful of short requests.
base::Result<Probe> probe(Target& target, std::stop_token stop);

}  // namespace kvasir::bench

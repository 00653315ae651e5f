#pragma once

#include <functional>
#include <string>
#include <vector>

#include "wire/generate_request.h"

namespace kvasir::bench {

// A way in which tokens are drawn. `ask` sets it for the i-th request of a batch.
struct DrawKind {
  std::string name;
  std::function<void(wire::GenerateRequest& request, int i)> ask;
};

// Greedy first. The last is a mixture of all.
std::vector<DrawKind> draw_kinds(int vocab_size);

}  // namespace kvasir::bench

#pragma once

#include <cstdint>

namespace kvasir::tenancy {

// The most that a request may use, known before it runs.
struct Cost {
  int sequences = 1;
  std::int64_t tokens = 0;        // prompt and output together
  std::int64_t least_tokens = 0;  // fewest tokens that would do; 0: it needs all
  int requests = 1;               // 0: a further part of a counted request; its concurrency is not limited

  bool flexible() const { return least_tokens > 0 && least_tokens < tokens; }
};

}  // namespace kvasir::tenancy

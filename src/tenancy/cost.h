#pragma once

#include <cstdint>

namespace kvasir::tenancy {

// The most that a request may use, known before it runs.
struct Cost {
  int sequences = 1;
  std::int64_t tokens = 0;        // prompt and output together
  std::int64_t least_tokens = 0;  // so many would do; 0: none fewer than all
  int requests = 1;               // 0: part of a request that was counted, which may go on beside others

  bool flexible() const { return least_tokens > 0 && least_tokens < tokens; }
};

}  // namespace kvasir::tenancy

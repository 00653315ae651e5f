#pragma once

#include <malloc.h>

namespace kvasir::base {

// Memory that is freed stays with the process, up to a bound for each arena. Else the C library gives the end
// of its heap back to the system whenever a step's lists are freed, and asks for it again in the next: dozens
// of page faults a step.
inline void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 4 << 20);  // blocks below come from the heap
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
#endif
}

}  // namespace kvasir::base

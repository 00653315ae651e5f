#pragma once

#include <cstdlib>  // defines __GLIBC__ if the C library is GNU's

#ifdef __GLIBC__
#include <malloc.h>
#endif

// Controls how the C library treats freed memory. Does nothing unless it is GNU's.
namespace kvasir::base {

// Keeps freed memory in the process, up to a limit per arena. Otherwise the end of the heap is returned to
// the system whenever a step's lists are freed, and is requested again in the next step. That costs a dozen
// page faults per step, a fifth of the host's time.
inline void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 4 << 20);  // smaller blocks come from the heap
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
#endif
}

// Returns all freed memory to the system, after a flood of requests.
inline void return_freed_memory() {
#ifdef __GLIBC__
  (void)malloc_trim(0);
#endif
}

}  // namespace kvasir::base

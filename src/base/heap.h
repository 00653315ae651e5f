#pragma once

#include <cstdlib>  // tells whose C library it is

#ifdef __GLIBC__
#include <malloc.h>
#endif

// What the C library does with memory that is freed. Nothing where it is not GNU's.
namespace kvasir::base {

// It stays with the process, up to a bound for each arena. Else the end of the heap goes back to the system
// whenever a step's lists are freed and is asked for again in the next: a dozen page faults a step, a fifth
// of the host's time.
inline void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 4 << 20);  // blocks below come from the heap
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
#endif
}

// All of it goes back to the system, after a flood.
inline void return_freed_memory() {
#ifdef __GLIBC__
  (void)malloc_trim(0);
#endif
}

}  // namespace kvasir::base

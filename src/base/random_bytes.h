#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kvasir::base {

// Unpredictable bytes from the system's generator, for ids, keys and seeds. Each thread has a small buffer,
// so that most calls need no system call. A forked child must not draw before it execs. Thread-safe. Aborts
// the process if the system gives no random bytes.
void fill_random(std::span<std::byte> out);
std::uint64_t random_uint64();

}  // namespace kvasir::base

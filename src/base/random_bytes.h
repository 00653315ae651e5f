#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kvasir::base {

// Bytes of the system's generator, which nobody can predict: for ids, keys and seeds. Kept in a small buffer
// of each thread, so that most calls cost no system call; a forked child must not draw before it execs.
// Thread-safe. Ends the process where the system gives none.
void fill_random(std::span<std::byte> out);
std::uint64_t random_uint64();

}  // namespace kvasir::base

#pragma once

namespace kvasir::base {

// The folder tests/ of the checkout. It is defined in a file that CMake writes, so that no other object file
// contains the checkout's path, and a compiler cache can share objects between checkouts.
extern const char kTestsDir[];

}  // namespace kvasir::base

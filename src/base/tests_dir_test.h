#pragma once

namespace kvasir::base {

// The folder tests/ of the checkout. Defined in a file that CMake writes, so that no other test holds the
// checkout's path: what one checkout compiled is then found again by another.
extern const char kTestsDir[];

}  // namespace kvasir::base

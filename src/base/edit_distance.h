#pragma once

#include <cstddef>
#include <string_view>

namespace kvasir::base {

// Letters to insert, remove or replace to make one of the other: for "did you mean". Takes time and memory by
// the two lengths, so cut what comes from outside.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace kvasir::base

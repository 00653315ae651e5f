#pragma once

#include <cstddef>
#include <string_view>

namespace kvasir::base {

// The number of letters to insert, remove or replace to turn one text into the other, for "did you mean".
// Takes time proportional to the product of the lengths, so truncate texts from outside first.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace kvasir::base

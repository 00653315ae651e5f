#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace kvasir::upstream {

// A member that could take a request.
struct Candidate {
  std::uint64_t id = 0;  // a hash of its label
  double weight = 1;
  double load = 0;  // requests
};

// A hash that is the same in every process and build.
std::uint64_t hash_of(std::string_view text);

// Picks the member for a request. Requests with the same key go to the same member, and few keys move when a
// member comes or goes. Weights are the members' shares of the keys. A member whose load exceeds its share by
// more than a quarter is skipped, so that a popular key spreads. `candidates` must not be empty.
std::size_t choose_member(std::span<const Candidate> candidates, std::uint64_t key);

}  // namespace kvasir::upstream

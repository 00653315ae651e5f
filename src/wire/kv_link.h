#pragma once

#include <cstdint>
#include <string>

namespace kvasir::wire {

// Assumed speed of another worker's KV blocks until a speed has been measured.
inline constexpr double kSupposedBytesPerS = 500e6;

// What a worker has observed, since it started, of another worker that computes prompts for it.
struct KvLink {
  std::string address;                      // of the other worker, as gateways name it
  std::uint64_t num_good = 0;               // prompts whose blocks all came
  std::uint64_t num_failed = 0;             // prompts whose blocks were late, lost, damaged or refused
  bool ended_well = true;                   // whether the latest prompt was a good one
  double bytes_per_s = kSupposedBytesPerS;  // speed while the other worker has more to send
  bool operator==(const KvLink&) const = default;
};

}  // namespace kvasir::wire

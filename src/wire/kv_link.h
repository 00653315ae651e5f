#pragma once

#include <cstdint>
#include <string>

namespace kvasir::wire {

// Bytes a second that are supposed to come from another worker until some have been seen to.
inline constexpr double kSupposedBytesPerS = 500e6;

// What a worker has seen of another one that computes prompts for it, since it started.
struct KvLink {
  std::string address;                      // of the other one, as gateways name it
  std::uint64_t num_good = 0;               // prompts whose blocks all came
  std::uint64_t num_failed = 0;             // whose blocks were late, lost, damaged or refused
  bool ended_well = true;                   // the latest one of both
  double bytes_per_s = kSupposedBytesPerS;  // that come while the other one has more to send
  bool operator==(const KvLink&) const = default;
};

}  // namespace kvasir::wire

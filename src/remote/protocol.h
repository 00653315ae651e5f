#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace kvasir::remote {

// The versions of the protocol that a build speaks, both included. A version counts changes that a peer
// without them cannot ignore; what it can ignore keeps the number.
struct Protocols {
  std::uint32_t oldest = 1;
  std::uint32_t newest = 1;
};

// 1: the first.
inline constexpr Protocols kProtocols{1, 1};

// Of a Hello or a Card. A peer that names no newest version speaks one alone.
template <class Message>
Protocols protocols_of(const Message& message) {
  return {message.protocol(),
          message.newest_protocol() > message.protocol() ? message.newest_protocol() : message.protocol()};
}

template <class Message>
void set_protocols(Message& message) {
  message.set_protocol(kProtocols.oldest);
  message.set_newest_protocol(kProtocols.newest);
}

// An error that names the peer where no version is spoken by both: the newest one that both speak is what
// they use.
base::Status check_common(std::string_view peer, const Protocols& its, const Protocols& own = kProtocols);

}  // namespace kvasir::remote

#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace kvasir::remote {

// The versions of the protocol that a build speaks, from `oldest` to `newest`. Only a change that older peers
// cannot ignore gets a new version.
struct Protocols {
  std::uint32_t oldest = 1;
  std::uint32_t newest = 1;
};

// Version 1 is the first one.
inline constexpr Protocols kProtocols{1, 1};

// The versions in a Hello or a Card. A peer that names no newest version speaks only one.
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

// Fails with an error that names the peer if both sides share no version. They use the newest version that
// both speak.
base::Status check_common(std::string_view peer, const Protocols& its, const Protocols& own = kProtocols);

}  // namespace kvasir::remote

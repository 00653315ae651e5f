#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"

namespace kvasir::remote {

// The texts of the PEM files with which the roles of a fleet prove to each other that they belong to it.
struct FleetTls {
  std::string certificate;
  std::string key;
  std::string authority;  // who has signed the certificates of all the others
};

// How roles speak with each other.
struct PeerOptions {
  std::optional<FleetTls> tls;    // none: plain text
  bool allows_plaintext = false;  // on addresses other than loopback, too
};

// Reads the three files, of which none or all are named.
base::Result<std::optional<FleetTls>> read_tls(const std::string& certificate, const std::string& key,
                                               const std::string& authority);

// No message is larger; a larger one ends the connection.
inline constexpr std::size_t kMostMessageBytes = std::size_t{256} << 20;

// Fails where the address is not HOST:PORT, or plain text would leave the machine.
base::Status check_address(const std::string& address, const PeerOptions& options);

}  // namespace kvasir::remote

#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"

namespace kvasir::remote {

// The texts of the PEM files by which the processes of a fleet authenticate each other.
struct FleetTls {
  std::string certificate;
  std::string key;
  std::string authority;  // the certificate that signed all certificates of the fleet
};

// How the processes of a fleet connect to each other.
struct PeerOptions {
  std::optional<FleetTls> tls;    // none: plain text
  bool allows_plaintext = false;  // also on addresses other than loopback
};

// Reads the three files. Either all paths or none must be given.
base::Result<std::optional<FleetTls>> read_tls(const std::string& certificate, const std::string& key,
                                               const std::string& authority);

// A larger message ends the connection.
inline constexpr std::size_t kMostMessageBytes = std::size_t{256} << 20;

// Fails if the address is not HOST:PORT, or if plain text would leave the machine without permission.
base::Status check_address(const std::string& address, const PeerOptions& options);

}  // namespace kvasir::remote

#include "remote/peer.h"

#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

namespace kvasir::remote {

using base::ErrorCode;
using base::Result;

namespace {

bool is_loopback_name(std::string_view host) {
  const bool is_number = host.find_first_not_of("0123456789.") == std::string_view::npos;
  return host == "localhost" || host == "[::1]" || (is_number && host.starts_with("127."));
}

Result<std::string> read_pem(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in || text.find("-----BEGIN") == std::string::npos)
    return base::error(ErrorCode::io, "{}: cannot be read, or is no PEM file", path);
  return text;
}

}  // namespace

Result<std::optional<FleetTls>> read_tls(const std::string& certificate, const std::string& key,
                                         const std::string& authority) {
  if (certificate.empty() && key.empty() && authority.empty()) return std::optional<FleetTls>();
  if (certificate.empty() || key.empty() || authority.empty())
    return base::error(ErrorCode::invalid_argument,
                       "--fleet-cert, --fleet-key and --fleet-ca go together: one of them is missing");
  FleetTls tls;
  TRY(tls.certificate, read_pem(certificate));
  TRY(tls.key, read_pem(key));
  TRY(tls.authority, read_pem(authority));
  return std::optional(std::move(tls));
}

base::Status check_address(const std::string& address, const PeerOptions& options) {
  const std::size_t colon = address.rfind(':');
  int port = -1;
  if (colon != std::string::npos && colon > 0)
    std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
  if (port < 0 || port > 65535)
    return base::error(ErrorCode::invalid_argument, "'{}' is no HOST:PORT", address);
  if (options.tls || options.allows_plaintext || is_loopback_name(std::string_view(address).substr(0, colon)))
    return base::ok();
  return base::error(ErrorCode::invalid_argument,
                     "'{}' is not on this machine's loopback: give the fleet certificates (--fleet-cert, "
                     "--fleet-key, --fleet-ca), or allow plain text with --fleet-plaintext",
                     address);
}

}  // namespace kvasir::remote

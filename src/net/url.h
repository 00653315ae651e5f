#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace kvasir::net {

// An absolute http or https address. `target` is the target in the request line: it begins with '/' and has
// no fragment. `host` has no brackets around an IPv6 address.
struct Url {
  bool tls = false;
  std::string host;
  std::string port;
  std::string target = "/";

  // The value of the Host header, also for messages. It has a port only if it is not the scheme's default.
  std::string authority() const;
  std::string text() const;
  bool same_origin(const Url& other) const;
};

base::Result<Url> parse_url(std::string_view text);

// Resolves the value of a Location header against the address that sent it.
base::Result<Url> resolve_location(const Url& from, std::string_view location);

}  // namespace kvasir::net

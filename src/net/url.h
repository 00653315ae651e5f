#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace kvasir::net {

// An absolute http or https address. `target` is what stands in the request line: it begins with '/' and
// holds no fragment. `host` of an IPv6 literal has no brackets.
struct Url {
  bool tls = false;
  std::string host;
  std::string port;
  std::string target = "/";

  // What the Host header and error messages say: the port only where it is not the scheme's own.
  std::string authority() const;
  std::string text() const;
  bool same_origin(const Url& other) const;
};

base::Result<Url> parse_url(std::string_view text);

// A Location header's value, seen from the address that sent it.
base::Result<Url> resolve_location(const Url& from, std::string_view location);

}  // namespace kvasir::net

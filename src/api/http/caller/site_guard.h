#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_message.h"
#include "net/http_server.h"

namespace kvasir::api {

// "localhost", "127.0.0.1", "::1": whether a name or address means the machine itself.
bool is_loopback(const std::string& name);

// Keeps web pages of other sites from making this server work. A page may send a text/plain request to any
// address without a preflight, and by DNS rebinding the page's own name may come to mean this machine. The
// browser says in Origin, Sec-Fetch-Site and Host where such a request comes from. Clients that are not
// browsers send neither Origin nor Sec-Fetch-Site, so those two do not restrict them. Immutable; thread-safe.
class SiteGuard {
 public:
  struct Options {
    std::string host;                       // the address that the server listens on
    std::vector<std::string> cors_origins;  // origins whose pages may call; "*": all
  };
  explicit SiteGuard(Options options);

  // Why the request is refused, judged by its head alone; absent: it is accepted. OPTIONS is always accepted,
  // since it does nothing.
  std::optional<net::RefusedRequest> refuse(const net::HttpRequest& head) const;

 private:
  bool is_own_name(std::string_view host) const;
  bool is_own_origin(std::string_view origin, std::string_view host) const;
  bool comes_from_elsewhere(const net::HttpRequest& head) const;

  const Options options_;
  const bool takes_anybody_;
  const bool on_loopback_;
  std::vector<std::string> names_;  // this server's names besides loopback's; in lower case, without ports
};

}  // namespace kvasir::api

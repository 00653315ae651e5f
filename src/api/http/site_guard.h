#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_message.h"
#include "net/http_server.h"

namespace kvasir::api {

// Keeps web pages of other sites from using this server. A page may send a text/plain request to any address
// without a preflight, and a page's own host name may be made to point to this machine. The browser tells in
// Origin, Sec-Fetch-Site and Host where such a request comes from. Clients that are not browsers do not send
// the first two, so they are not restricted by them. Immutable. Thread-safe.
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
  std::vector<std::string> names_;  // of this server, besides loopback's; in lower case, without ports
};

}  // namespace kvasir::api

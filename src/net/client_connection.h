#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <stop_token>
#include <vector>

#include "base/result.h"
#include "net/http_client.h"
#include "net/tls_context.h"

namespace kvasir::net {

// Where a client's connections lead, and whom they trust: looked up once, shared by all of them, never
// changed.
struct Origin {
  HttpClientOptions options;
  Url url;  // its target does not matter
  std::vector<boost::asio::ip::tcp::endpoint> endpoints;
  std::shared_ptr<const TlsContext> tls;  // null for plain http

  // Blocks for the name lookup.
  static base::Result<std::shared_ptr<const Origin>> find(const Url& url, const HttpClientOptions& options,
                                                          std::stop_token stop);
};

// One connection to an origin, used for one exchange after the other as far as the server keeps it. Thousands
// of them live on one I/O thread: nothing here blocks. Touched on its executor only.
class ClientConnection {
 public:
  ClientConnection(const boost::asio::any_io_executor& executor, std::shared_ptr<const Origin> origin);
  ~ClientConnection();
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  // One request and its answer; connects first where no connection is left. The body of a redirect is not
  // read. Errors as of HttpClient::call. One at a time; `call` and `sink` outlive it. A kept connection that
  // the server has closed meanwhile is replaced without a word.
  boost::asio::awaitable<base::Result<HttpReply>> exchange(const HttpCall& call, const ReplySink& sink);

  // Ends the exchange under way with `cancelled`, and the connection with it.
  void abort();
  // Whether the next exchange may go over the connection of the last one.
  bool open() const;

 private:
  class Wire;
  std::shared_ptr<const Origin> origin_;
  std::unique_ptr<Wire> wire_;
};

}  // namespace kvasir::net

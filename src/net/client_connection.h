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

// The address of a client's connections and the certificates that they trust. Looked up once and shared by
// all connections. Immutable.
struct Origin {
  HttpClientOptions options;
  Url url;  // its target is ignored
  std::vector<boost::asio::ip::tcp::endpoint> endpoints;
  std::shared_ptr<const TlsContext> tls;  // null for plain http

  // Looks up the host's name, which blocks.
  static base::Result<std::shared_ptr<const Origin>> find(const Url& url, const HttpClientOptions& options,
                                                          std::stop_token stop);
};

// One connection to an origin. It carries one exchange after another, as long as the server keeps it open.
// Thousands of connections live on one I/O thread, so nothing here blocks. Touched on its executor only.
class ClientConnection {
 public:
  ClientConnection(const boost::asio::any_io_executor& executor, std::shared_ptr<const Origin> origin);
  ~ClientConnection();
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  // Sends one request and receives its answer; connects first if there is no connection. The body of a
  // redirect is not read. Errors are those of HttpClient::call. Only one exchange may run at a time; `call`
  // and `sink` outlive it. If the server has closed a kept connection meanwhile, it is replaced silently.
  boost::asio::awaitable<base::Result<HttpReply>> exchange(const HttpCall& call, const ReplySink& sink);

  // Ends the current exchange with `cancelled` and closes the connection.
  void abort();
  // Whether the next exchange may use the present connection.
  bool open() const;

 private:
  class Wire;
  std::shared_ptr<const Origin> origin_;
  std::unique_ptr<Wire> wire_;
};

}  // namespace kvasir::net

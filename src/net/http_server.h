#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/http_message.h"
#include "net/responder.h"
#include "net/tls_context.h"

namespace kvasir::net {

// A request that never reached the handler, or whose handler gave no answer.
struct RefusedRequest {
  RefusedRequest() = default;
  RefusedRequest(int status_in, std::string code_in, std::string message_in)
      : status(status_in), code(std::move(code_in)), message(std::move(message_in)) {}

  int status = 400;
  std::string code;     // "request_too_large", "header_timeout", ...
  std::string message;  // one sentence for the client
  // Headers of the request, as far as they could be read.
  std::string request_id;  // x-request-id
  std::string origin;
  std::string path;  // empty unless the whole head was read
};

struct ServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;                                      // 0: any free one
  std::optional<TlsFiles> tls;                                 // none: plain HTTP
  base::Duration tls_look_interval = std::chrono::seconds(1);  // how often the files are checked for changes
  int num_io_threads = 1;
  int max_connections = 10'000;                   // more: 503
  std::size_t max_header_bytes = 16 * 1024;       // more: 431
  std::size_t max_body_bytes = 16 * 1024 * 1024;  // more: 413
  // Total for all requests, and the same again for all answers. More: 503.
  std::size_t max_bodies_bytes = 256 * 1024 * 1024;
  // From the first byte to the last header: 408. A TLS handshake gets the same time; a slower one is dropped.
  base::Duration header_timeout = std::chrono::seconds(10);
  base::Duration body_timeout = std::chrono::seconds(60);   // for the whole body: 408
  base::Duration idle_timeout = std::chrono::seconds(120);  // between requests: closed without an answer
  base::Duration write_timeout = std::chrono::seconds(30);  // a peer that takes nothing for this long is cut
  std::int64_t min_read_rate = 4096;  // bytes a second; after write_timeout a slower peer is cut
  int send_buffer_bytes = 0;          // of the socket; 0: the system decides
  // Called for a request that waits for "100 Continue" before it sends its body. False: the handler runs
  // without the body, and the connection closes after its answer. Empty: every body is read.
  std::function<bool(const HttpRequest&)> wants_body;
  // Called for every request once its head has been read. A refusal is sent before the body is read, and
  // closes the connection. Called on any I/O thread. Empty: every request is accepted.
  std::function<std::optional<RefusedRequest>(const HttpRequest&)> refuse_head;
  // Makes the answer to a refused request. Called on any I/O thread. Empty: OpenAI's error format.
  std::function<HttpResponse(const RefusedRequest&)> refusal;
};

// For /metrics. The first three are gauges; the others only grow.
struct ServerStats {
  std::atomic<std::int64_t> open_connections{0};
  std::atomic<std::int64_t> active_requests{0};  // requests inside a handler
  std::atomic<std::int64_t> unsent_bytes{0};     // bytes of answers that sockets have not yet taken
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> refused_connections{0};  // beyond max_connections
  std::atomic<std::uint64_t> refused_requests{0};     // malformed, too large, too slow, too many bytes
  std::atomic<std::uint64_t> disconnects{0};          // the peer left while a handler ran
  std::atomic<std::uint64_t> failed_handshakes{0};    // of TLS
};

// Runs on an I/O thread for each request and answers through the responder. Both references are valid until
// it ends. If it ends without an answer, the server sends a 500.
using Handler = std::function<boost::asio::awaitable<void>(HttpRequest&, Responder&)>;

class IoThread;
struct ServerState;

// HTTP/1.1, plain or over TLS, on a few I/O threads, each with its own io_context and listener on the one
// port. A bad client harms only its own connection. The public functions may be called from any thread that
// is not an I/O thread.
//
// Everything that holds an executor of this server (such as a responder's) must be gone before the server is
// destroyed. The destructor destroys the handlers that `stop` cut short.
class HttpServer {
 public:
  HttpServer(ServerOptions options, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Reads the certificate, binds, starts the threads, and returns the port. Called once.
  base::Result<std::uint16_t> start();
  // Refuses new connections. Open ones finish their request and are then closed.
  void stop_accepting();
  // Blocks until no handler runs, for at most `at_most`. False if some still run.
  bool wait_idle(base::Duration at_most);
  // Closes every connection, gives the handlers a moment to notice, and joins the threads. May be called
  // twice.
  void stop();

  const ServerStats& stats() const;

 private:
  std::shared_ptr<ServerState> state_;
  std::vector<std::unique_ptr<IoThread>> threads_;
};

}  // namespace kvasir::net

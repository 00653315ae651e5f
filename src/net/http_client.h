#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/http_message.h"
#include "net/url.h"

namespace kvasir::net {

struct HttpClientOptions {
  std::chrono::milliseconds connect_timeout{1000};  // for the name lookup, for each address, and for TLS
  std::chrono::milliseconds read_timeout{30000};    // without a byte from the peer
  int max_redirects = 5;
  std::string ca_file;  // trusted in addition to the system's store (see SSL_CERT_FILE and SSL_CERT_DIR)
  std::string user_agent = "kvasir";
  bool keep_alive =
      false;  // ask the server to keep the connection open, for a ClientConnection with several exchanges
};

struct HttpCall {
  std::string method = "GET";
  Url url;
  std::vector<HttpHeader> headers;
  std::string body;
};

// The final answer, after redirects.
struct HttpReply {
  int status = 0;
  std::vector<HttpHeader> headers;
  Url url;  // after redirects

  // The first header of that name, ignoring case; empty if absent.
  std::string_view header(std::string_view name) const;
};

bool is_redirect(int status);

// Receives an answer as it arrives, on the calling thread. If a function returns an error, the call ends with
// it.
struct ReplySink {
  std::function<base::Status(const HttpReply&)> head = [](const HttpReply&) { return base::ok(); };
  std::function<base::Status(std::string_view)> body = [](std::string_view) { return base::ok(); };
  // Awaited after each piece of the body, and nothing more is read until it returns. Empty: no pause.
  std::function<boost::asio::awaitable<void>()> room = {};
};

// HTTP/1.1 and HTTPS with one connection per call. It blocks the calling thread, so it is for the terminal
// and for downloads, never for an I/O thread. Thread-safe, since it holds only options. Certificates are
// always verified. A redirect never leads from https to http, and `Authorization` and `Cookie` are not sent
// to another origin. A body that is cut off before its announced end is an error.
class HttpClient {
 public:
  explicit HttpClient(HttpClientOptions options) : options_(std::move(options)) {}

  // Errors: `unavailable` if no connection could be made (name, TCP, TLS), `timeout`, `cancelled` once `stop`
  // is requested, `io` if an exchange broke off, `unsupported` for a redirect that is not followed. A status
  // such as 404 is a reply, not an error.
  base::Result<HttpReply> call(const HttpCall& call, const ReplySink& sink, std::stop_token stop) const;

  // Like `call`, but collects the body. `too_large` if it exceeds `max_bytes`.
  struct Text {
    HttpReply reply;
    std::string body;
  };
  base::Result<Text> text(const HttpCall& call, std::size_t max_bytes, std::stop_token stop) const;

 private:
  HttpClientOptions options_;
};

}  // namespace kvasir::net

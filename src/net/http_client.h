#pragma once

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
  std::chrono::milliseconds connect_timeout{1000};  // name lookup, each address, and TLS
  std::chrono::milliseconds read_timeout{30000};    // without a byte from the peer
  int max_redirects = 5;
  std::string ca_file;  // trusted besides the system's store (which SSL_CERT_FILE and SSL_CERT_DIR name)
  std::string user_agent = "kvasir";
  bool keep_alive =
      false;  // ask the server to keep the connection; for a ClientConnection that is used again
};

struct HttpCall {
  std::string method = "GET";
  Url url;
  std::vector<HttpHeader> headers;
  std::string body;
};

// The answer that is not a redirect.
struct HttpReply {
  int status = 0;
  std::vector<HttpHeader> headers;
  Url url;  // after redirects

  // Case-insensitive; empty where absent.
  std::string_view header(std::string_view name) const;
};

bool is_redirect(int status);

// Where an answer goes as it arrives, on the calling thread. An error from either ends the call with it.
struct ReplySink {
  std::function<base::Status(const HttpReply&)> head = [](const HttpReply&) { return base::ok(); };
  std::function<base::Status(std::string_view)> body = [](std::string_view) { return base::ok(); };
};

// HTTP/1.1 and HTTPS, one connection a call, blocking the calling thread; for the terminal and for
// downloads, never for an I/O thread. Thread-safe: it holds options only.
// Certificates are always verified. A redirect never leads from https to http, and `Authorization` and
// `Cookie` do not follow to another origin. A body cut off before its announced end is an error.
class HttpClient {
 public:
  explicit HttpClient(HttpClientOptions options) : options_(std::move(options)) {}

  // Errors: `unavailable` where no connection came to be (name, TCP, TLS), `timeout`, `cancelled` once
  // `stop` is requested, `io` where an exchange broke, `unsupported` for a redirect that is not followed. A
  // status such as 404 is a reply and no error.
  base::Result<HttpReply> call(const HttpCall& call, const ReplySink& sink, std::stop_token stop) const;

  // The same with the body collected; over `max_bytes` is `too_large`.
  struct Text {
    HttpReply reply;
    std::string body;
  };
  base::Result<Text> text(const HttpCall& call, std::size_t max_bytes, std::stop_token stop) const;

 private:
  HttpClientOptions options_;
};

}  // namespace kvasir::net

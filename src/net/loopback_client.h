#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace kvasir::net {

class TlsContext;
class TlsSession;

struct RawResponse {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // chunks joined
};

// A blocking client for tests that control exactly what is sent and when. Every read gives up after 20 s, so
// that a server that does not answer makes a test fail rather than hang.
class LoopbackClient {
 public:
  explicit LoopbackClient(std::uint16_t port, int receive_buffer_bytes = 0);
  ~LoopbackClient();
  LoopbackClient(LoopbackClient&& other) noexcept;
  LoopbackClient(const LoopbackClient&) = delete;
  LoopbackClient& operator=(const LoopbackClient&) = delete;

  bool connected() const { return fd_ >= 0; }
  // False if the handshake fails. `context` is a client's, and the server's certificate has to name
  // localhost.
  bool start_tls(const TlsContext& context);
  // Null without TLS.
  TlsSession* tls() const { return tls_.get(); }
  // False when the server has closed.
  bool send(std::string_view bytes);
  // The next answer; bytes after it are kept for the next call. Absent if the server closed before its end.
  std::optional<RawResponse> read_response();
  // Like read_response, for an answer that has no body, whatever its headers say.
  std::optional<RawResponse> read_head();
  // At most n bytes; empty at the end of the connection.
  std::string read_some(std::size_t n);
  // Everything up to and including `mark`, or everything that came if the connection ended first.
  std::string read_until(std::string_view mark);
  // True if the server closes (or resets) without sending anything more.
  bool at_end();

  void half_close();
  // Closes with a reset.
  void reset();

 private:
  bool fill();
  // Reads at most `size` bytes; 0 at the end of the connection.
  std::size_t receive(char* into, std::size_t size);

  int fd_ = -1;
  std::unique_ptr<TlsSession> tls_;
  std::string buffer_;
};

std::string get_request(std::string_view path, std::string_view more_headers = "");
std::string post_request(std::string_view path, std::string_view body, std::string_view more_headers = "");

}  // namespace kvasir::net

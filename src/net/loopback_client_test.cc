// Not a test: the client that the tests of this folder use.
#include "net/loopback_client.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "net/tls_session.h"

namespace kvasir::net {

LoopbackClient::LoopbackClient(std::uint16_t port, int receive_buffer_bytes) {
  fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
  if (fd_ < 0) return;
  const timeval patience{20, 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (receive_buffer_bytes > 0) {
    setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(fd_);
    fd_ = -1;
  }
}

LoopbackClient::LoopbackClient(LoopbackClient&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), tls_(std::move(other.tls_)), buffer_(std::move(other.buffer_)) {}

LoopbackClient::~LoopbackClient() {
  if (fd_ >= 0) ::close(fd_);
}

bool LoopbackClient::start_tls(const TlsContext& context) {
  tls_ = TlsSession::client(context, fd_, "localhost");
  return tls_->handshake() == TlsSession::Step::done;  // the socket blocks, so the handshake does too
}

bool LoopbackClient::send(std::string_view bytes) {
  while (tls_ && !bytes.empty()) {
    const std::array<boost::asio::const_buffer, 1> buffers{boost::asio::buffer(bytes)};
    const auto [step, num_bytes] = tls_->write(buffers);
    if (step != TlsSession::Step::done) return false;
    bytes.remove_prefix(num_bytes);
  }
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

std::size_t LoopbackClient::receive(char* into, std::size_t size) {
  if (tls_) return tls_->read(boost::asio::buffer(into, size)).num_bytes;
  const ssize_t n = ::recv(fd_, into, size, 0);
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

bool LoopbackClient::fill() {
  char chunk[16 * 1024];
  const std::size_t n = receive(chunk, sizeof chunk);
  buffer_.append(chunk, n);
  return n > 0;
}

std::string LoopbackClient::read_some(std::size_t n) {
  if (buffer_.empty()) {
    std::string out(n, '\0');
    out.resize(receive(out.data(), n));
    return out;
  }
  std::string out = buffer_.substr(0, n);
  buffer_.erase(0, out.size());
  return out;
}

std::string LoopbackClient::read_until(std::string_view mark) {
  std::size_t at = 0;
  while ((at = buffer_.find(mark)) == std::string::npos) {
    if (!fill()) return std::exchange(buffer_, {});
  }
  std::string out = buffer_.substr(0, at + mark.size());
  buffer_.erase(0, out.size());
  return out;
}

bool LoopbackClient::at_end() {
  return buffer_.empty() && !fill();
}

std::optional<RawResponse> LoopbackClient::read_head() {
  const std::string head = read_until("\r\n\r\n");
  if (!head.ends_with("\r\n\r\n") || head.size() < 12) return std::nullopt;
  RawResponse response;
  response.status = std::atoi(head.c_str() + 9);
  std::size_t at = head.find("\r\n") + 2;
  while (head.compare(at, 2, "\r\n") != 0) {
    const std::size_t colon = head.find(':', at);
    const std::size_t end = head.find("\r\n", at);
    std::string name = head.substr(at, colon - at);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    response.headers[name] = head.substr(colon + 2, end - colon - 2);
    at = end + 2;
  }
  return response;
}

std::optional<RawResponse> LoopbackClient::read_response() {
  std::optional<RawResponse> response = read_head();
  if (!response) return std::nullopt;
  if (response->headers.count("transfer-encoding") > 0) {
    for (;;) {
      const std::string size_line = read_until("\r\n");
      if (!size_line.ends_with("\r\n")) return std::nullopt;
      const std::size_t size = std::stoul(size_line, nullptr, 16);
      while (buffer_.size() < size + 2) {
        if (!fill()) return std::nullopt;
      }
      response->body += buffer_.substr(0, size);
      buffer_.erase(0, size + 2);
      if (size == 0) return response;
    }
  }
  if (response->headers.count("content-length") > 0) {
    const std::size_t size = std::stoul(response->headers["content-length"]);
    while (buffer_.size() < size) {
      if (!fill()) return std::nullopt;
    }
    response->body = buffer_.substr(0, size);
    buffer_.erase(0, size);
  }
  return response;
}

void LoopbackClient::half_close() {
  if (tls_) (void)tls_->say_end();
  ::shutdown(fd_, SHUT_WR);
}

void LoopbackClient::reset() {
  const linger now{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  ::close(std::exchange(fd_, -1));
}

std::string get_request(std::string_view path, std::string_view more_headers) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", path, more_headers);
}

std::string post_request(std::string_view path, std::string_view body, std::string_view more_headers) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n{}\r\n{}", path,
                     body.size(), more_headers, body);
}

}  // namespace kvasir::net

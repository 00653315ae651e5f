#pragma once

#include <boost/asio/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "net/tls_context.h"

struct bio_st;
struct ssl_st;

namespace kvasir::net {

// TLS over one non-blocking socket. Nothing here waits: a call moves what it can and says what it would have
// to wait for. Does not own the descriptor. Touched by one thread at a time.
class TlsSession {
 public:
  static std::unique_ptr<TlsSession> server(const TlsContext& context, int fd);
  // Accepts only a peer whose certificate is trusted and names `host`, which is a name or an address.
  static std::unique_ptr<TlsSession> client(const TlsContext& context, int fd, const std::string& host);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  enum class Step {
    done,         // or some bytes moved
    needs_read,   // try again when there is something to read
    needs_write,  // try again when there is room to write
    end,          // the peer announced that it sends nothing more
    failed,       // the session cannot be used any more; `failure` says why
  };
  struct Moved {
    Step step = Step::failed;
    std::size_t num_bytes = 0;
  };
  Step handshake();
  Moved read(boost::asio::mutable_buffer into);
  // Sends the beginning of the buffers, as one record. After needs_write the next call must begin with the
  // same bytes.
  Moved write(std::span<const boost::asio::const_buffer> buffers);
  // Announces to the peer that nothing more is sent.
  Step say_end();

  // True if the last read brought bytes: the session may hold more, for which the socket is not readable.
  bool may_hold_bytes() const { return may_hold_bytes_; }
  // Bytes that the system has taken, with the overhead of TLS.
  std::int64_t num_sent() const { return num_sent_; }
  // Why the session failed; set after `failed`.
  const std::string& failure() const { return failure_; }
  // True if the peer began with a plain HTTP request.
  bool peer_speaks_http() const { return peer_speaks_http_; }
  // True if the peer's certificate is not trusted, or names another host.
  bool peer_distrusted() const { return peer_distrusted_; }

  ssl_st* native() const { return tls_.get(); }

 private:
  struct Free {
    void operator()(ssl_st* tls) const;
  };
  struct Wire;  // the socket, in the form that OpenSSL wants
  TlsSession(const TlsContext& context, int fd);
  Step step_of(int result);
  void describe_failure();
  void note_error(bio_st* bio, int direction);

  const int fd_;
  std::unique_ptr<ssl_st, Free> tls_;
  std::int64_t num_sent_ = 0;
  int system_error_ = 0;
  bool wire_ended_ = false;
  bool wire_empty_ = false;  // the last read from the socket had to wait
  bool may_hold_bytes_ = false;
  bool peer_speaks_http_ = false;
  bool peer_distrusted_ = false;
  bool broken_ = false;
  std::string failure_;
};

}  // namespace kvasir::net

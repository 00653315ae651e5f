#include "net/tls_session.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "base/check.h"

namespace kvasir::net {

namespace asio = boost::asio;

namespace {

constexpr std::size_t kRecordBytes = 16 * 1024;  // the most that one record holds
// One read skips at most this many records without data (new keys, tickets), so that a peer cannot keep the
// thread busy with them.
constexpr int kMaxDatalessRecords = 32;

}  // namespace

// Replaces OpenSSL's own socket code, which sends without MSG_NOSIGNAL and does not count bytes.
struct TlsSession::Wire {
  static int read(BIO* bio, char* into, int size) {
    auto& session = *static_cast<TlsSession*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    ssize_t n = 0;
    do n = ::recv(session.fd_, into, static_cast<std::size_t>(size), 0);
    while (n < 0 && errno == EINTR);
    session.wire_empty_ = n < 0;
    if (n == 0) session.wire_ended_ = true;
    if (n < 0) session.note_error(bio, BIO_FLAGS_READ);
    return static_cast<int>(n);
  }
  static int write(BIO* bio, const char* from, int size) {
    auto& session = *static_cast<TlsSession*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    ssize_t n = 0;
    do n = ::send(session.fd_, from, static_cast<std::size_t>(size), MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0) session.note_error(bio, BIO_FLAGS_WRITE);
    if (n > 0) session.num_sent_ += n;
    return static_cast<int>(n);
  }
  static long control(BIO* bio, int command, long, void*) {
    if (command == BIO_CTRL_EOF) return static_cast<TlsSession*>(BIO_get_data(bio))->wire_ended_ ? 1 : 0;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }
  static int create(BIO* bio) {
    BIO_set_init(bio, 1);
    return 1;
  }

  static BIO* open(TlsSession& session) {
    static BIO_METHOD* const method = [] {
      BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
      CHECK(made != nullptr, "no memory");
      BIO_meth_set_read(made, read);
      BIO_meth_set_write(made, write);
      BIO_meth_set_ctrl(made, control);
      BIO_meth_set_create(made, create);
      return made;
    }();
    BIO* bio = BIO_new(method);
    if (bio == nullptr) throw std::bad_alloc();
    BIO_set_data(bio, &session);
    return bio;
  }
};

void TlsSession::note_error(bio_st* bio, int direction) {
  if (errno == EAGAIN || errno == EWOULDBLOCK) {
    BIO_set_flags(bio, direction | BIO_FLAGS_SHOULD_RETRY);
  } else {
    system_error_ = errno;
  }
}

void TlsSession::Free::operator()(ssl_st* tls) const {
  SSL_free(tls);
}

TlsSession::TlsSession(const TlsContext& context, int fd) : fd_(fd), tls_(SSL_new(context.native())) {
  if (!tls_) throw std::bad_alloc();
  BIO* wire = Wire::open(*this);
  SSL_set_bio(tls_.get(), wire, wire);
}

TlsSession::~TlsSession() = default;

std::unique_ptr<TlsSession> TlsSession::server(const TlsContext& context, int fd) {
  std::unique_ptr<TlsSession> session(new TlsSession(context, fd));
  SSL_set_accept_state(session->native());
  return session;
}

std::unique_ptr<TlsSession> TlsSession::client(const TlsContext& context, int fd, const std::string& host) {
  std::unique_ptr<TlsSession> session(new TlsSession(context, fd));
  SSL* tls = session->native();
  SSL_set_connect_state(tls);
  boost::system::error_code not_an_address;
  asio::ip::make_address(host, not_an_address);
  X509_VERIFY_PARAM* wanted = SSL_get0_param(tls);
  if (not_an_address) {
    X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    CHECK(X509_VERIFY_PARAM_set1_host(wanted, host.data(), host.size()) == 1, "no memory");
    SSL_set_tlsext_host_name(tls, host.c_str());
  } else {
    CHECK(X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1, "an address that OpenSSL cannot read");
  }
  return session;
}

TlsSession::Step TlsSession::step_of(int result) {
  if (result > 0) return Step::done;
  const int kind = SSL_get_error(tls_.get(), result);
  if (kind == SSL_ERROR_WANT_READ) return Step::needs_read;
  if (kind == SSL_ERROR_WANT_WRITE) return Step::needs_write;
  if (kind == SSL_ERROR_ZERO_RETURN) return Step::end;
  describe_failure();
  return Step::failed;
}

void TlsSession::describe_failure() {
  broken_ = true;
  const long verdict = SSL_get_verify_result(tls_.get());
  const unsigned long code = ERR_peek_error();
  peer_speaks_http_ = ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_HTTP_REQUEST;
  peer_distrusted_ = verdict != X509_V_OK;
  const std::string reason = take_tls_error();
  if (system_error_ != 0)
    failure_ = std::generic_category().message(system_error_);
  else if (wire_ended_)
    failure_ = "the peer closed the connection in the middle of TLS";
  else if (peer_distrusted_)
    failure_ = X509_verify_cert_error_string(verdict);
  else
    failure_ = reason;
}

TlsSession::Step TlsSession::handshake() {
  ERR_clear_error();
  return step_of(SSL_do_handshake(tls_.get()));
}

TlsSession::Moved TlsSession::read(asio::mutable_buffer into) {
  if (broken_) return {};
  ERR_clear_error();
  Step step = Step::needs_read;
  std::size_t n = 0;
  wire_empty_ = false;
  for (int i = 0; i < kMaxDatalessRecords && step == Step::needs_read && !wire_empty_; ++i)
    step = step_of(SSL_read_ex(tls_.get(), into.data(), into.size(), &n));
  if (step == Step::needs_read && !wire_empty_) {
    broken_ = true;
    failure_ = "the peer sends records without data";
    step = Step::failed;
  }
  may_hold_bytes_ = step == Step::done;
  return {step, n};
}

TlsSession::Moved TlsSession::write(std::span<const asio::const_buffer> buffers) {
  if (broken_) return {};
  std::array<char, kRecordBytes> record;
  asio::const_buffer bytes = buffers.front();
  if (buffers.size() > 1 && bytes.size() < record.size()) {
    // Joins several buffers into one record; otherwise each would be a packet of its own.
    bytes = asio::buffer(record, asio::buffer_copy(asio::buffer(record), buffers));
  }
  ERR_clear_error();
  std::size_t n = 0;
  const Step step = step_of(SSL_write_ex(tls_.get(), bytes.data(), std::min(bytes.size(), kRecordBytes), &n));
  return {step, n};
}

TlsSession::Step TlsSession::say_end() {
  if (broken_ || SSL_in_init(tls_.get()) == 1) return Step::failed;
  ERR_clear_error();
  const int result = SSL_shutdown(tls_.get());
  return result >= 0 ? Step::done : step_of(result);
}

}  // namespace kvasir::net

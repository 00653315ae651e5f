#pragma once

#include <memory>
#include <string>

#include "base/result.h"

struct ssl_ctx_st;

namespace kvasir::net {

// PEM files of a server: its certificate, followed by the intermediate ones up to a known authority, and its
// key.
struct TlsFiles {
  std::string certificate;
  std::string key;
};

// The settings of all TLS connections of one side: TLS 1.2 and up, ciphers with forward secrecy, and the
// authorities to trust or the certificate to show. Immutable. Sessions keep the parts that they need alive.
// Thread-safe.
class TlsContext {
 public:
  // Trusts the system's store (which SSL_CERT_FILE and SSL_CERT_DIR name), and `ca_file` unless it is empty.
  static base::Result<std::shared_ptr<const TlsContext>> client(const std::string& ca_file);
  // An error names the file and what is wrong with it.
  static base::Result<std::shared_ptr<const TlsContext>> server(const TlsFiles& files);

  // When the server's certificate expires, as in "Jan 1 00:00:00 2027 GMT".
  std::string expiry() const;
  ssl_ctx_st* native() const { return context_.get(); }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}

  std::unique_ptr<ssl_ctx_st, Free> context_;
};

// Returns OpenSSL's reason for its last failure on this thread, and clears it.
std::string take_tls_error();

}  // namespace kvasir::net

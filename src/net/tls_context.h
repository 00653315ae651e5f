#pragma once

#include <memory>
#include <string>

#include "base/result.h"

struct ssl_ctx_st;

namespace kvasir::net {

// PEM files of a server: its certificate, followed by those that lead to a known authority, and the key.
struct TlsFiles {
  std::string certificate;
  std::string key;
};

// What the TLS connections of one side have in common: TLS 1.2 and up, ciphers with forward secrecy, whom to
// trust or what to show. Never changed once made; sessions keep what they need of it alive. Thread-safe.
class TlsContext {
 public:
  // Trusts the system's store (which SSL_CERT_FILE and SSL_CERT_DIR name), and `ca_file` where it is given.
  static base::Result<std::shared_ptr<const TlsContext>> client(const std::string& ca_file);
  // An error names the file and what is wrong with it.
  static base::Result<std::shared_ptr<const TlsContext>> server(const TlsFiles& files);

  // When the server's certificate ends, as in "Jan  1 00:00:00 2027 GMT".
  std::string expiry() const;
  ssl_ctx_st* native() const { return context_.get(); }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  explicit TlsContext(ssl_ctx_st* context) : context_(context) {}

  std::unique_ptr<ssl_ctx_st, Free> context_;
};

// Why OpenSSL failed on this thread, in its words; forgets it.
std::string take_tls_error();

}  // namespace kvasir::net

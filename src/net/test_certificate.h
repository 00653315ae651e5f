#pragma once

#include <filesystem>
#include <string>

#include "net/tls_context.h"

namespace kvasir::net {

// For tests: a self-signed certificate for localhost and 127.0.0.1 and its key, in files that the destructor
// removes.
class TestCertificate {
 public:
  TestCertificate();
  ~TestCertificate();
  TestCertificate(const TestCertificate&) = delete;
  TestCertificate& operator=(const TestCertificate&) = delete;

  TlsFiles files() const;
  // A client's context that trusts the present certificate.
  std::shared_ptr<const TlsContext> client() const;
  // The serial number of the present certificate; each certificate has its own.
  long serial() const { return serial_; }
  // Replaces the certificate and its key.
  void renew();
  // Writes the key again, encrypted with a passphrase.
  void lock_key() const;

 private:
  std::filesystem::path folder_;
  long serial_ = 0;
};

void write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace kvasir::net

#pragma once

#include <filesystem>
#include <string>

#include "net/tls_context.h"

namespace kvasir::net {

// A certificate for localhost and 127.0.0.1 that signs itself, and its key, in files that go with it; for
// tests.
class TestCertificate {
 public:
  TestCertificate();
  ~TestCertificate();
  TestCertificate(const TestCertificate&) = delete;
  TestCertificate& operator=(const TestCertificate&) = delete;

  TlsFiles files() const;
  // Who trusts this one, as it is now.
  std::shared_ptr<const TlsContext> client() const;
  // Its number, as it is now; others have others.
  long serial() const { return serial_; }
  // Puts another certificate and key in the place of both.
  void renew();
  // Writes the key anew, under a passphrase.
  void lock_key() const;

 private:
  std::filesystem::path folder_;
  long serial_ = 0;
};

void write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace kvasir::net

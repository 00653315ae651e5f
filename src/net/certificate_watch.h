#pragma once

#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/result.h"
#include "net/tls_context.h"

namespace kvasir::net {

// Keeps a server's certificate up to date. A thread of its own looks at the files every `interval` and loads
// a changed pair. A pair that cannot be used is logged, and the last good pair stays. Thread-safe.
class CertificateWatch {
 public:
  // An error names the file and what is wrong with it. A key file that all users may read is logged.
  static base::Result<std::unique_ptr<CertificateWatch>> start(const TlsFiles& files,
                                                               base::Duration interval);
  CertificateWatch(const CertificateWatch&) = delete;
  CertificateWatch& operator=(const CertificateWatch&) = delete;

  // The certificate for a new connection; older connections keep theirs.
  std::shared_ptr<const TlsContext> current() const;

 private:
  CertificateWatch(TlsFiles files, base::Duration interval);
  void run(const std::stop_token& stop);
  void look();

  const TlsFiles files_;
  const base::Duration interval_;
  std::string seen_;  // the files' marks at the last load; only the thread's, once it runs
  mutable std::mutex mutex_;
  std::shared_ptr<const TlsContext> current_;  // guarded by mutex_
  std::jthread thread_;                        // declared last: it ends before the members that it uses
};

}  // namespace kvasir::net

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

// A server's certificate as it is now. A thread of its own looks at the files every `interval` and takes a
// pair that has changed; one that cannot be used is logged, and the last good one stays. Thread-safe.
class CertificateWatch {
 public:
  // An error names the file and what is wrong with it. A key that everybody may read is logged.
  static base::Result<std::unique_ptr<CertificateWatch>> start(const TlsFiles& files,
                                                               base::Duration interval);
  CertificateWatch(const CertificateWatch&) = delete;
  CertificateWatch& operator=(const CertificateWatch&) = delete;

  // For a new connection; older ones keep theirs.
  std::shared_ptr<const TlsContext> current() const;

 private:
  CertificateWatch(TlsFiles files, base::Duration interval);
  void run(const std::stop_token& stop);
  void look();

  const TlsFiles files_;
  const base::Duration interval_;
  std::string seen_;  // what the files were when they were last loaded; the thread's, once that runs
  mutable std::mutex mutex_;
  std::shared_ptr<const TlsContext> current_;  // guarded by mutex_
  std::jthread thread_;                        // last: it ends before what it uses
};

}  // namespace kvasir::net

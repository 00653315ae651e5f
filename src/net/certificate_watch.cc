#include "net/certificate_watch.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <condition_variable>
#include <utility>

#include "obs/log.h"

namespace kvasir::net {

namespace {

// A text that changes whenever the file is written or replaced, also by a link to another file.
std::string mark_of(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return fmt::format("error {};", errno);
  return fmt::format("{} {} {} {}.{} {}.{};", info.st_dev, info.st_ino, info.st_size, info.st_mtim.tv_sec,
                     info.st_mtim.tv_nsec, info.st_ctim.tv_sec, info.st_ctim.tv_nsec);
}

std::string mark_of(const TlsFiles& files) {
  return mark_of(files.certificate) + mark_of(files.key);
}

void warn_of_open_key(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || (info.st_mode & S_IROTH) == 0) return;
  obs::Log::warn("tls_key_readable_by_all", {{"file", path}, {"advice", "chmod o-rwx"}});
}

}  // namespace

base::Result<std::unique_ptr<CertificateWatch>> CertificateWatch::start(const TlsFiles& files,
                                                                        base::Duration interval) {
  std::unique_ptr<CertificateWatch> watch(new CertificateWatch(files, interval));
  watch->seen_ = mark_of(files);
  TRY(watch->current_, TlsContext::server(files));
  warn_of_open_key(files.key);
  watch->thread_ = std::jthread([watch = watch.get()](const std::stop_token& stop) { watch->run(stop); });
  return watch;
}

CertificateWatch::CertificateWatch(TlsFiles files, base::Duration interval)
    : files_(std::move(files)), interval_(interval) {}

std::shared_ptr<const TlsContext> CertificateWatch::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

void CertificateWatch::run(const std::stop_token& stop) {
  std::mutex unused;
  std::unique_lock lock(unused);
  while (!stop.stop_requested()) {
    std::condition_variable_any().wait_for(lock, stop, interval_, [] { return false; });
    if (!stop.stop_requested()) look();
  }
}

void CertificateWatch::look() {
  // Taken before the files are read, so a change during the reading is seen the next time.
  std::string mark = mark_of(files_);
  if (mark == seen_) return;
  seen_ = std::move(mark);
  auto loaded = TlsContext::server(files_);
  if (!loaded.ok()) {
    obs::Log::warn("tls_certificate_kept", {{"reason", loaded.error().message}});
    return;
  }
  warn_of_open_key(files_.key);
  obs::Log::info("tls_certificate_loaded",
                 {{"file", files_.certificate}, {"valid_until", (*loaded)->expiry()}});
  const std::lock_guard lock(mutex_);
  current_ = std::move(*loaded);
}

}  // namespace kvasir::net

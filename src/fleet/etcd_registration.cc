#include "fleet/etcd_registration.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "fleet/member_text.h"
#include "obs/log.h"

namespace kvasir::fleet {

namespace {

constexpr std::chrono::milliseconds kRetry{300};

}  // namespace

EtcdRegistration::EtcdRegistration(EtcdOptions options, WorkerPlace place)
    : client_(std::move(options)),
      place_(std::move(place)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

EtcdRegistration::~EtcdRegistration() {
  thread_.request_stop();
  thread_.join();
  if (lease_ == 0) return;
  if (const base::Status revoked = client_.revoke(lease_, {}); !revoked.ok())
    obs::Log::warn("registration_stays", {{"worker", place_.id}, {"reason", revoked.error().message}});
}

void EtcdRegistration::run(const std::stop_token& stop) {
  std::mutex unused;
  std::unique_lock lock(unused);
  bool is_registered = false;
  bool has_complained = false;
  while (!stop.stop_requested()) {
    const base::Status status = renew(stop);
    if (status.ok() && !std::exchange(is_registered, true))
      obs::Log::info("worker_registered", {{"worker", place_.id}, {"address", place_.address}});
    if (!status.ok() && (is_registered || !has_complained) && !stop.stop_requested()) {
      obs::Log::warn("worker_not_registered", {{"worker", place_.id}, {"reason", status.error().message}});
      has_complained = true;
    }
    is_registered = status.ok();
    const auto third = std::chrono::milliseconds(client_.options().lease) / 3;
    std::condition_variable_any().wait_for(lock, stop, status.ok() ? third : kRetry, [] { return false; });
  }
}

base::Status EtcdRegistration::renew(const std::stop_token& stop) {
  if (lease_ != 0) {
    TRY(const bool lives, client_.keep_alive(lease_, stop));
    if (lives) return base::ok();
    lease_ = 0;
  }
  TRY(const std::int64_t lease, client_.grant_lease(stop));
  TRY_OK(client_.put(client_.options().prefix + place_.id, write_member(place_), lease, stop));
  lease_ = lease;
  return base::ok();
}

}  // namespace kvasir::fleet

#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "net/body_budget.h"
#include "net/certificate_watch.h"
#include "net/http_server.h"

namespace kvasir::net {

// What a server's threads and connections share. Thread-safe: members without a lock or an atomic never
// change while the threads run.
struct ServerState {
  ServerState(ServerOptions options_in, Handler handler_in)
      : options(std::move(options_in)), handler(std::move(handler_in)) {}

  const ServerOptions options;
  const Handler handler;
  std::unique_ptr<const CertificateWatch> certificates;  // null: plain HTTP; set before the threads start
  ServerStats stats;
  // One body of the largest size always fits, since a growing string takes up to twice its length.
  const std::shared_ptr<BodyBudget> bodies =
      std::make_shared<BodyBudget>(std::max(options.max_bodies_bytes, 4 * options.max_body_bytes));
  const std::shared_ptr<BodyBudget> answers = std::make_shared<BodyBudget>(bodies->max_bytes());
  std::atomic<bool> draining{false};

  // Held while a gauge falls to zero, so that a waiting thread cannot miss it.
  std::mutex mutex;
  std::condition_variable fell_to_zero;

  void leave(std::atomic<std::int64_t>& gauge) {
    if (gauge.fetch_sub(1) != 1) return;
    const std::lock_guard lock(mutex);
    fell_to_zero.notify_all();
  }
  bool wait_for_zero(const std::atomic<std::int64_t>& gauge, base::Duration at_most) {
    std::unique_lock lock(mutex);
    return fell_to_zero.wait_for(lock, at_most, [&] { return gauge.load() == 0; });
  }
};

// Counts as one in a gauge while it lives.
class Presence {
 public:
  Presence(ServerState& state, std::atomic<std::int64_t>& gauge) : state_(state), gauge_(gauge) {
    gauge_.fetch_add(1);
  }
  ~Presence() { state_.leave(gauge_); }
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;

 private:
  ServerState& state_;
  std::atomic<std::int64_t>& gauge_;
};

}  // namespace kvasir::net

#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace kvasir::fleet {

// A worker as a gateway of its fleet sees it.
struct WorkerStanding {
  std::string id;
  std::string address;
  std::string model;  // that it has or had last; empty: it never connected
  std::string build;  // of the present or the last connection; empty: it never connected
  std::string
      state;  // ready, draining, connecting, refused, or leaving: not listed any more, but with streams
  std::string reason = {};  // why it is not ready
};

// The standing of the fleet's workers. The gateway's connections write it, and the API reads it. Thread-safe.
class WorkerBoard {
 public:
  void set(std::vector<WorkerStanding> workers) {
    const std::lock_guard lock(mutex_);
    workers_ = std::move(workers);
  }
  std::vector<WorkerStanding> workers() const {
    const std::lock_guard lock(mutex_);
    return workers_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<WorkerStanding> workers_;  // guarded by mutex_
};

}  // namespace kvasir::fleet

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/result.h"
#include "store/store.h"

namespace kvasir::api {

// One call of the store that can be made later, on any thread. It owns its data.
struct Write {
  std::function<base::Status(store::Store&)> run;
  std::size_t num_bytes = 0;  // approximate memory that it occupies
};
using Writes = std::deque<Write>;

// Makes the calls in order and removes each that is over: it succeeded, or its record is gone or was already
// written. Stops at any other failure, since that call may succeed later. Returns the first error.
base::Status write_all(store::Store& store, Writes& writes);

// Retries writes while the store fails (a full disk, a lock of another process), on a thread of its own, with
// pauses. Thread-safe.
class LateWrites {
 public:
  struct Limits {
    std::size_t max_bytes = std::size_t{64} << 20;
    std::size_t max_waiting = 4096;
    base::Duration first_pause = std::chrono::seconds(1);  // doubled while the store fails
    base::Duration max_pause = std::chrono::seconds(30);
  };
  // `store` outlives this object.
  LateWrites(store::Store& store, Limits limits);
  ~LateWrites();
  LateWrites(const LateWrites&) = delete;
  LateWrites& operator=(const LateWrites&) = delete;

  // If `writes` would exceed the memory limit, `otherwise` is queued instead: a small write that leaves the
  // record usable.
  void add(Writes writes, Write otherwise);
  // Retries the queue once, up to the first failure, and joins the thread. Remaining and later writes are
  // lost.
  void stop();

 private:
  struct Entry {
    Writes writes;
    std::size_t num_bytes = 0;
  };
  void work();
  // Retries the oldest entry. Returns true if it is over.
  bool try_oldest(std::unique_lock<std::mutex>& lock);

  store::Store& store_;
  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> waiting_;  // guarded by mutex_
  std::size_t num_bytes_ = 0;  // guarded by mutex_; of all entries
  bool stopped_ = false;       // guarded by mutex_
  std::thread thread_;
};

}  // namespace kvasir::api

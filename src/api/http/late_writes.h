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

// One call of the store, made by whoever has time for it. It owns what it writes.
struct Write {
  std::function<base::Status(store::Store&)> run;
  std::size_t num_bytes = 0;  // that it holds, about
};
using Writes = std::deque<Write>;

// Makes the calls in their order and takes out each that is over: done, or in vain because its record is gone
// or was written before. Stops at one that fails otherwise, which may succeed later. The first error.
base::Status write_all(store::Store& store, Writes& writes);

// What a store that failed for a while (a full disk, a lock of another process) still has to be told, tried
// again on a thread of its own, with pauses. Thread-safe.
class LateWrites {
 public:
  struct Limits {
    std::size_t max_bytes = std::size_t{64} << 20;
    std::size_t max_waiting = 4096;
    base::Duration first_pause = std::chrono::seconds(1);  // doubled while the store fails
    base::Duration max_pause = std::chrono::seconds(30);
  };
  // The store outlives it.
  LateWrites(store::Store& store, Limits limits);
  ~LateWrites();
  LateWrites(const LateWrites&) = delete;
  LateWrites& operator=(const LateWrites&) = delete;

  // `otherwise` is kept where the memory for `writes` is used up: something small that leaves the record
  // usable.
  void add(Writes writes, Write otherwise);
  // Tries once more what waits, up to the first failure, and ends the thread. What is added later is lost.
  void stop();

 private:
  struct Entry {
    Writes writes;
    std::size_t num_bytes = 0;
  };
  void work();
  // True: the entry is over.
  bool try_oldest(std::unique_lock<std::mutex>& lock);

  store::Store& store_;
  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> waiting_;  // guarded by mutex_
  std::size_t num_bytes_ = 0;  // guarded by mutex_: of all entries
  bool stopped_ = false;       // guarded by mutex_
  std::thread thread_;
};

}  // namespace kvasir::api

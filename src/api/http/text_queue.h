#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/result.h"

namespace kvasir::api {

// Threads for work on text that may take long, so that no I/O thread does it. What waits is bounded; what
// nobody wants any more is dropped where it waits and asked to stop where it runs. Thread-safe.
class TextQueue {
 public:
  struct Entry {
    std::function<void(const std::stop_token&)> run;
    std::function<void()> drop;  // called instead, where the queue stops first
    std::stop_source stop{};
  };

  TextQueue(int num_threads, std::size_t max_waiting);
  ~TextQueue();
  TextQueue(const TextQueue&) = delete;
  TextQueue& operator=(const TextQueue&) = delete;

  // exhausted: too many wait already. unavailable: the queue has stopped.
  base::Status add(std::shared_ptr<Entry> entry);
  // Neither `run` nor `drop` begins after this; one that runs is asked to stop.
  void give_up(const std::shared_ptr<Entry>& entry);
  // Drops what waits, asks what runs to stop, and waits for it to do so.
  void stop();
  std::size_t num_waiting() const;

 private:
  void work();

  const std::size_t max_waiting_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Entry>> waiting_;   // guarded by mutex_
  std::vector<std::shared_ptr<Entry>> running_;  // guarded by mutex_
  bool stopped_ = false;                         // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace kvasir::api

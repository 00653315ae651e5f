#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "tenancy/fair_queue.h"

namespace kvasir::api {

// Threads for work on text that may take long, so that no I/O thread does it. The queue is bounded. Work that
// was given up is dropped if it waits, and asked to stop if it runs. Callers get shares of the threads by
// weight, so that a caller who sends many large texts delays only itself. Thread-safe.
class TextQueue {
 public:
  // Whose turn it is to work (the flow and its weight), and on how much text.
  struct Turn {
    std::string flow;
    int weight = 1;
    std::int64_t num_bytes = 1;
  };
  struct Entry {
    std::function<void(const std::stop_token&)> run;
    std::function<void()> drop;  // called instead of `run` if the queue stops first
    std::stop_source stop{};
    Turn turn = {};
  };

  TextQueue(int num_threads, std::size_t max_waiting);
  ~TextQueue();
  TextQueue(const TextQueue&) = delete;
  TextQueue& operator=(const TextQueue&) = delete;

  // exhausted: the queue is full. unavailable: the queue has stopped.
  base::Status add(std::shared_ptr<Entry> entry);
  // After this, neither `run` nor `drop` begins. A running entry is asked to stop.
  void give_up(const std::shared_ptr<Entry>& entry);
  // Drops waiting entries, asks running ones to stop, and waits for them.
  void stop();
  std::size_t num_waiting() const;

 private:
  void work();

  const std::size_t max_waiting_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  tenancy::FairQueue<std::shared_ptr<Entry>> waiting_;  // guarded by mutex_
  std::vector<std::shared_ptr<Entry>> running_;         // guarded by mutex_
  bool stopped_ = false;                                // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace kvasir::api

#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace kvasir::remote {

// Runs jobs one after the other on its own thread. A worker compiles grammars there, so that its streams do
// not wait for them.
class CompileThread {
 public:
  explicit CompileThread(std::size_t most_waiting)
      : most_waiting_(most_waiting), thread_([this](const std::stop_token& stop) { run(stop); }) {}

  // False: too many jobs wait already.
  bool add(std::function<void()> job) {
    {
      const std::lock_guard lock(mutex_);
      if (jobs_.size() >= most_waiting_) return false;
      jobs_.push_back(std::move(job));
    }
    wake_.notify_one();
    return true;
  }
  // Waits for the running job, and drops the others.
  void stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (wake_.wait(lock, stop, [this] { return !jobs_.empty(); }) && !stop.stop_requested()) {
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      lock.lock();
    }
  }

  const std::size_t most_waiting_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::function<void()>> jobs_;  // guarded by mutex_
  std::jthread thread_;
};

}  // namespace kvasir::remote

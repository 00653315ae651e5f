#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>

namespace kvasir::gateway {

// Models on one processor load and are measured one at a time: a step that is timed while another model loads
// says nothing of the device. Thread-safe; outlives what it hands out.
class LoadingTurn {
 public:
  // The turn is its holder's until this is destroyed.
  class Held {
   public:
    explicit Held(LoadingTurn& turn) : turn_(turn) {}
    ~Held() { turn_.give_back(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    LoadingTurn& turn_;
  };

  // Waits until nobody has the turn. Null: a stop was requested first.
  std::unique_ptr<Held> take(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    if (!given_back_.wait(lock, stop, [this] { return !is_taken_; })) return nullptr;
    is_taken_ = true;
    return std::make_unique<Held>(*this);
  }

 private:
  void give_back() {
    {
      const std::lock_guard lock(mutex_);
      is_taken_ = false;
    }
    given_back_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable_any given_back_;
  bool is_taken_ = false;  // guarded by mutex_
};

}  // namespace kvasir::gateway

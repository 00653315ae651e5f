#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace kvasir::api {

// Work that goes on without a client, by its id, and the callbacks that wait for its end. Thread-safe.
class Endings {
 public:
  // The work of this id goes on while this object lives.
  class Running {
   public:
    Running(Endings& endings, std::string id) : endings_(endings), id_(std::move(id)) { endings_.begin(id_); }
    ~Running() { endings_.end(id_); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    Endings& endings_;
    const std::string id_;
  };

  // Returns false if no work of this id goes on. Otherwise calls `told` once at its end, on any thread;
  // `told` may only post.
  bool tell(const std::string& id, std::function<void()> told) {
    const std::lock_guard lock(mutex_);
    const auto found = running_.find(id);
    if (found == running_.end()) return false;
    found->second.push_back(std::move(told));
    return true;
  }

 private:
  void begin(const std::string& id) {
    const std::lock_guard lock(mutex_);
    running_[id];
  }
  void end(const std::string& id) {
    std::vector<std::function<void()>> waiting;
    {
      const std::lock_guard lock(mutex_);
      waiting = std::move(running_[id]);
      running_.erase(id);
    }
    for (const auto& told : waiting) told();
  }

  std::mutex mutex_;
  std::map<std::string, std::vector<std::function<void()>>> running_;  // guarded by mutex_
};

}  // namespace kvasir::api

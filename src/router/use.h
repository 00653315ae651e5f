#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace kvasir::router {

// Reports that a model's last use has ended. Thread-safe.
class UseListener {
 public:
  using Told = std::function<void(const std::string& model)>;

  // Empty: no listener. Returns once no call of the old one runs.
  void set(Told told) {
    const std::lock_guard lock(mutex_);
    told_ = std::move(told);
  }
  void tell(const std::string& model) {
    const std::lock_guard lock(mutex_);
    if (told_) told_(model);
  }

 private:
  std::mutex mutex_;
  Told told_;  // guarded by mutex_
};

// A request's hold on a model: while one lives, the model does not leave. A request holds one use with the
// model's text and another with its lease.
class Use {
 public:
  // Counts the uses of one model.
  class Count {
   public:
    Count(std::string model, std::shared_ptr<UseListener> listener)
        : model_(std::move(model)), listener_(std::move(listener)) {}
    bool any() const {
      const std::lock_guard lock(mutex_);
      return num_ > 0;
    }

   private:
    friend class Use;
    void add() {
      const std::lock_guard lock(mutex_);
      ++num_;
    }
    void remove() {
      {
        const std::lock_guard lock(mutex_);
        if (--num_ > 0) return;
      }
      listener_->tell(model_);
    }

    const std::string model_;
    const std::shared_ptr<UseListener> listener_;
    mutable std::mutex mutex_;
    int num_ = 0;  // guarded by mutex_
  };

  explicit Use(std::shared_ptr<Count> count) : count_(std::move(count)) { count_->add(); }
  Use(Use&& other) noexcept = default;
  Use& operator=(Use&&) = delete;
  ~Use() {
    if (count_) count_->remove();
  }

 private:
  std::shared_ptr<Count> count_;  // null once moved from
};

}  // namespace kvasir::router

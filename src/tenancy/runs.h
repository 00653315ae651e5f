#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace kvasir::tenancy {

// Requests that run, by key, so that they can be ended when the key is revoked or expires. Thread-safe.
class Runs {
  struct Table;

 public:
  // While this object lives, the request may be ended. A move-only value; may outlive its Runs.
  class Run {
   public:
    Run() = default;  // belongs to no key
    Run(Run&& other) noexcept;
    Run& operator=(Run&& other) noexcept;
    ~Run();

   private:
    friend class Runs;
    std::shared_ptr<Table> table_;  // null: not in a table
    std::string key_;
    std::uint64_t number_ = 0;
  };

  Runs();

  // `end` is called on any thread, at most once, and never after the Run has died. A lock is held during the
  // call, so `end` must only notify others. Runs with an empty key are never ended.
  [[nodiscard]] Run enter(std::string key, std::function<void()> end);

  // Ends all runs whose key `is_over` accepts.
  void end_where(const std::function<bool(const std::string& key)>& is_over);

  std::size_t num_keys() const;

 private:
  std::shared_ptr<Table> table_;
};

}  // namespace kvasir::tenancy

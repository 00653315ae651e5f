#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace kvasir::tenancy {

// What runs by which key, so that it can be ended when the key is. Thread-safe.
class Runs {
  struct Table;

 public:
  // While it lives, what entered may be ended. A move-only value; may outlive its Runs.
  class Run {
   public:
    Run() = default;  // of nobody's key
    Run(Run&& other) noexcept;
    Run& operator=(Run&& other) noexcept;
    ~Run();

   private:
    friend class Runs;
    std::shared_ptr<Table> table_;  // null: there is nothing to take out
    std::string key_;
    std::uint64_t number_ = 0;
  };

  Runs();

  // `end` is called on any thread, at most once, and not once the Run has died. It is called with a lock
  // held, so it only tells others what to do. An empty key is nobody's, and does not end.
  [[nodiscard]] Run enter(std::string key, std::function<void()> end);

  // Ends everything of the keys for which `is_over`.
  void end_where(const std::function<bool(const std::string& key)>& is_over);

  std::size_t num_keys() const;

 private:
  std::shared_ptr<Table> table_;
};

}  // namespace kvasir::tenancy

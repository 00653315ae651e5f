#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "base/result.h"

namespace kvasir::upstream {

class Call;

// All running calls, so that they can be ended together. Thread-safe; outlives the calls.
class RunningCalls {
 public:
  void add(const std::shared_ptr<Call>& call);
  void remove(const Call* call);
  // Ends all calls, each on its executor, which must still run.
  void end_all(const base::Error& why);

 private:
  std::mutex mutex_;
  std::map<const Call*, std::weak_ptr<Call>> calls_;  // guarded by mutex_
};

}  // namespace kvasir::upstream

#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "base/result.h"

namespace kvasir::upstream {

class Call;

// The calls that run, so that all can be ended. Thread-safe; outlives them.
class RunningCalls {
 public:
  void add(const std::shared_ptr<Call>& call);
  void remove(const Call* call);
  // Ends all, each on its executor, which still runs.
  void end_all(const base::Error& why);

 private:
  std::mutex mutex_;
  std::map<const Call*, std::weak_ptr<Call>> calls_;  // guarded by mutex_
};

}  // namespace kvasir::upstream

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "router/ejections.h"
#include "wire/kv_link.h"

namespace kvasir::router {

// The prefill workers whose blocks keep failing. Members that answer report what became of the prompts that
// others computed for them, so that all gateways see the same. A worker whose blocks failed some times in a
// row gets no prompts for a pause; then one prompt tries it. All of them may be out: members that answer
// compute by themselves. Thread-safe.
class PrefillTrials {
 public:
  using Links = std::shared_ptr<const std::vector<wire::KvLink>>;

  // A member that answers tells of those that computed for it. Its first message has history only.
  void heed(const std::string& member, const Links& links, base::TimePoint now);
  bool admits(const std::string& address, base::TimePoint now) const;
  // It gets a prompt: if its pause is over, this is the trial.
  void begin(const std::string& address, base::TimePoint now) { ejections_.begin(address, now); }
  // The member has left, and may come back as another process.
  void forget(const std::string& member, const std::string& address);
  // How often it was put out.
  std::uint64_t count(const std::string& address) const;

 private:
  // A trial waits as long as a prompt does for its blocks.
  static constexpr std::chrono::seconds kLongestTrial{30};

  void heed_one(const wire::KvLink& before, const wire::KvLink& link, base::TimePoint now);

  Ejections ejections_{{.longest_trial = kLongestTrial}};  // by address
  mutable std::mutex mutex_;
  std::map<std::string, Links> heeded_;  // guarded by mutex_; by member, the latest message
};

}  // namespace kvasir::router

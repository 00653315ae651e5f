#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "router/ejections.h"
#include "wire/kv_link.h"

namespace kvasir::router {

// Keeps prompts away from prefill workers whose blocks keep failing. Decode members report what became of the
// prompts that prefill workers computed for them, so that all gateways see the same. A worker whose blocks
// failed several times in a row gets no prompts for a pause; then one prompt tries it. All prefill workers
// may be out at once: decode members then compute prompts themselves. Thread-safe.
class PrefillTrials {
 public:
  using Links = std::shared_ptr<const std::vector<wire::KvLink>>;

  // Call it when a worker joins the pool. What is reported of others is ignored, since nobody would forget
  // it.
  void join(const std::string& address);
  // Takes in what a decode member reports of the workers that computed for it. Its first message is history,
  // and is not counted.
  void heed(const std::string& member, const Links& links, base::TimePoint now);
  bool admits(const std::string& address, base::TimePoint now) const {
    return ejections_.admits(address, now);
  }
  // Call it when the worker gets a prompt: if its pause is over, that prompt is its trial.
  void begin(const std::string& address, base::TimePoint now) { ejections_.begin(address, now); }
  // Call it when the member has left: it may come back as another process.
  void forget(const std::string& member, const std::string& address);
  // How often the worker was taken out.
  std::uint64_t count(const std::string& address) const;

 private:
  // A trial lasts at most as long as a prompt waits for its blocks.
  static constexpr std::chrono::seconds kLongestTrial{30};

  void heed_one(const wire::KvLink& before, const wire::KvLink& link, base::TimePoint now);

  Ejections ejections_{{.longest_trial = kLongestTrial}};  // by address
  mutable std::mutex mutex_;
  std::map<std::string, Links> heeded_;  // guarded by mutex_; each member's latest message
  std::multiset<std::string> present_;   // guarded by mutex_; addresses, where another process may already be
};

}  // namespace kvasir::router

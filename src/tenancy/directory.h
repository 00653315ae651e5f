#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "store/accounts.h"
#include "tenancy/caller.h"
#include "tenancy/runs.h"

namespace kvasir::tenancy {

// Finds the caller of an API key. Answers come from an immutable snapshot. Its own thread polls the store for
// changes, which any process may make, and ends requests whose key was revoked or has expired. While the
// store fails, the last snapshot stays in use. Thread-safe.
class Directory {
 public:
  struct Options {
    base::Duration poll = std::chrono::milliseconds(200);
    // Milliseconds since the epoch, because keys expire at a date.
    std::function<std::int64_t()> now_ms = {};  // empty: the system's clock
  };

  // Fails if the store cannot be read. `accounts` outlives the directory, and `tiers` is not empty.
  static base::Result<std::unique_ptr<Directory>> open(store::Accounts& accounts, std::vector<Tier> tiers,
                                                       Options options);
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  // True if there is a key, or has been one since the process began. So revoking the last key closes the
  // server instead of opening it to everybody.
  bool needs_key() const;

  struct Holder {
    Caller caller;
    store::KeyScope scope;
  };
  // Looks up a key by its text. Empty if the key is unknown, revoked or expired. Takes a lock only right
  // after a change; otherwise well under 5 µs.
  std::optional<Holder> find(std::string_view text) const;
  // The caller for work that was stored earlier, such as a batch, with the tenant's current tier. A tenant
  // that is gone, or that never had a key, gets the first tier if keys are needed.
  Caller of_tenant(const std::string& tenant) const;

  // Stops the thread: no more polling, and no more requests are ended. Safe to call twice.
  void stop();

  // Reads the store now. For callers that have just changed it. Blocks.
  base::Status refresh();

  const std::vector<Tier>& tiers() const { return tiers_; }
  Runs& runs() { return runs_; }

 private:
  struct Snapshot;
  using SnapshotPtr = std::shared_ptr<const Snapshot>;

  Directory(store::Accounts& accounts, std::vector<Tier> tiers, Options options);
  SnapshotPtr current() const;
  SnapshotPtr make_snapshot(const store::AccountsSnapshot& read) const;
  void end_runs();
  void watch(const std::stop_token& stop);

  store::Accounts& accounts_;
  const std::vector<Tier> tiers_;
  const Options options_;
  const std::uint64_t number_;  // identifies this directory in the threads' cached snapshots
  Runs runs_;
  std::mutex refreshing_;                     // held while the store is read
  bool store_failed_ = false;                 // guarded by refreshing_
  mutable std::mutex mutex_;                  // held for a swap or copy of snapshot_
  SnapshotPtr snapshot_;                      // guarded by mutex_
  std::atomic<std::uint64_t> generation_{0};  // grows with each swap
  std::atomic<bool> had_key_{false};
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace kvasir::tenancy

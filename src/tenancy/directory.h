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

// Who shows which key. Everything is answered from a snapshot that never changes; a thread of its own looks
// whether the store has a newer one, made by whichever process, and ends what runs by keys that are over.
// While the store fails, the last snapshot holds. Thread-safe.
class Directory {
 public:
  struct Options {
    base::Duration poll = std::chrono::milliseconds(200);
    // Milliseconds since the epoch: when keys expire is a date.
    std::function<std::int64_t()> now_ms = {};  // empty: the system's clock
  };

  // An error where the store cannot be read. `accounts` outlives it; there are `tiers` of at least one name.
  static base::Result<std::unique_ptr<Directory>> open(store::Accounts& accounts, std::vector<Tier> tiers,
                                                       Options options);
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  // There is a key, or there has been one since the process began: revoking the last key shuts the server
  // rather than opening it to everybody.
  bool needs_key() const;

  struct Holder {
    Caller caller;
    store::KeyScope scope;
  };
  // By a key's text. Nothing: it is unknown, revoked or expired. Takes no lock but right after a change, and
  // well under 5 µs.
  std::optional<Holder> find(std::string_view text) const;
  // Who asks for work that was left here, such as a batch: with its tier as it is now. One that is gone, or
  // that had no key, has the first tier where keys are needed.
  Caller of_tenant(const std::string& tenant) const;

  // Looks no more by itself, and ends nothing any more. Safe to call twice.
  void stop();

  // Looks into the store now, for who has just changed it. Blocks.
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
  const std::uint64_t number_;  // tells directories apart in the threads' own copies
  Runs runs_;
  std::mutex refreshing_;                     // held over a whole look at the store
  bool store_failed_ = false;                 // guarded by refreshing_
  mutable std::mutex mutex_;                  // of a swap
  SnapshotPtr snapshot_;                      // guarded by mutex_
  std::atomic<std::uint64_t> generation_{0};  // grows with each swap
  std::atomic<bool> had_key_{false};
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace kvasir::tenancy

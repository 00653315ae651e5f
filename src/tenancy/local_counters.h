#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "tenancy/account.h"
#include "tenancy/counters.h"
#include "tenancy/journal.h"

namespace kvasir::tenancy {

// Counters of one process. Accounts live in shards, each with its mutex; one that has nothing to remember is
// forgotten.
//
// With a journal they outlive the process: each reservation and each settlement is a line of it before it is
// granted, so that after a crash at any moment everything that was granted is counted, and what was not
// settled is counted in full. Where the journal cannot be written, or another process has it, counting goes
// on in memory; about once a second the whole of it is tried again.
class LocalCounters final : public Counters, public std::enable_shared_from_this<LocalCounters> {
 public:
  // Without a journal. The clock outlives the counters and their reservations.
  static std::shared_ptr<LocalCounters> in_memory(const base::WallClock& clock);
  // With one in `folder`, which is made where there is none. An error where a journal cannot be read. What
  // was read is written anew at once, `durability` says how; what follows survives the process only.
  static base::Result<std::shared_ptr<LocalCounters>> open(const std::filesystem::path& folder,
                                                           const base::WallClock& clock,
                                                           Journal::Durability durability);

  base::Result<std::unique_ptr<Reservation>> reserve(const Caller& caller, const Cost& cost) override;
  Standings standings(const Caller& caller) const override;

  std::size_t num_accounts() const;
  // What is granted is written down before it is.
  bool journaling() const { return journaling_; }

 private:
  class Held;

  // Lookup by the characters alone.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Accounts = std::unordered_map<std::string, Account, Hash, std::equal_to<>>;
  struct Shard {
    mutable std::mutex mutex;
    Accounts accounts;            // guarded by mutex
    std::size_t sweep_over = 64;  // guarded by mutex; accounts at which those to forget are looked for
    std::string line;             // guarded by mutex; kept for its memory
  };
  // The thread sanitizer follows at most 64 locks of a thread.
  static constexpr std::size_t kNumShards = 16;

  LocalCounters(std::unique_ptr<Journal> journal, const base::WallClock& clock,
                Journal::Durability durability)
      : clock_(clock), durability_(durability), journal_(std::move(journal)) {}

  Shard& shard_of(std::string_view tenant);
  const Shard& shard_of(std::string_view tenant) const;
  // The shard's mutex is held.
  void sweep(Shard& shard, const Moment& now);
  void write_down(Shard& shard, std::string_view tenant, const AccountState& state);
  // No shard's mutex is held.
  void tend_journal();
  base::Status take_over_journal(const Moment& now);
  base::Status write_anew(Journal::Durability durability);
  void load(std::string_view text, const Moment& now);
  void note_failure(const base::Error& error);

  const base::WallClock& clock_;
  const Journal::Durability durability_;
  std::array<Shard, kNumShards> shards_;
  const std::unique_ptr<Journal> journal_;  // null: everything is in memory only
  std::mutex tending_;                      // taken before the shards', in their order
  bool has_lock_ = false;                   // guarded by tending_
  bool told_ = false;                       // guarded by tending_; of a journal that does not work
  std::atomic<bool> journaling_{false};
  std::atomic<std::int64_t> try_at_us_{0};
  std::atomic<std::size_t> rewrite_over_{0};  // bytes
};

}  // namespace kvasir::tenancy

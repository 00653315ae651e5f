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

// Counters of one process. Accounts are in shards, each with its own mutex. An account that has nothing to
// remember is forgotten.
//
// With a journal, the accounts outlive the process. Each reservation and each settlement is written to the
// journal before the caller gets its result. So after a crash at any moment, all grants are counted, and
// unsettled ones count in full. If the journal cannot be written, or another process holds it, counting goes
// on in memory, and about once a second the journal is tried again.
class LocalCounters final : public Counters, public std::enable_shared_from_this<LocalCounters> {
 public:
  // Counters without a journal. The clock outlives the counters and their reservations.
  static std::shared_ptr<LocalCounters> in_memory(const base::WallClock& clock);
  // Counters with a journal in `folder`, which is created if necessary. Fails if an existing journal cannot
  // be read. The contents are rewritten at once with this `durability`; later lines survive only the process.
  static base::Result<std::shared_ptr<LocalCounters>> open(const std::filesystem::path& folder,
                                                           const base::WallClock& clock,
                                                           Journal::Durability durability);

  base::Result<std::unique_ptr<Reservation>> reserve(const Caller& caller, const Cost& cost) override;
  Standings standings(const Caller& caller) const override;

  std::size_t num_accounts() const;
  // True while every grant is written to the journal before the caller gets it.
  bool journaling() const { return journaling_; }

 private:
  class Held;

  // Allows lookup with a string_view, without making a string.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Accounts = std::unordered_map<std::string, Account, Hash, std::equal_to<>>;
  struct Shard {
    mutable std::mutex mutex;
    Accounts accounts;            // guarded by mutex
    std::size_t sweep_over = 64;  // number of accounts at which forgettable ones are dropped
    std::string line;             // a buffer, kept for its memory; guarded by mutex
  };
  // At most 64 locks can be held in one thread under the thread sanitizer.
  static constexpr std::size_t kNumShards = 16;

  LocalCounters(std::unique_ptr<Journal> journal, const base::WallClock& clock,
                Journal::Durability durability)
      : clock_(clock), durability_(durability), journal_(std::move(journal)) {}

  Shard& shard_of(std::string_view tenant);
  const Shard& shard_of(std::string_view tenant) const;
  // The caller holds the shard's mutex.
  void sweep(Shard& shard, const Moment& now);
  void write_down(Shard& shard, std::string_view tenant, const AccountState& state);
  // The caller holds no shard's mutex.
  void tend_journal();
  base::Status take_over_journal(const Moment& now);
  base::Status write_anew(Journal::Durability durability);
  void load(std::string_view text, const Moment& now);
  void note_failure(const base::Error& error);

  const base::WallClock& clock_;
  const Journal::Durability durability_;
  std::array<Shard, kNumShards> shards_;
  const std::unique_ptr<Journal> journal_;  // null: everything is in memory only
  std::mutex tending_;     // taken before the mutexes of the shards, which are taken in their order
  bool has_lock_ = false;  // guarded by tending_
  bool told_ = false;      // a failure of the journal was reported; guarded by tending_
  std::atomic<bool> journaling_{false};
  std::atomic<std::int64_t> try_at_us_{0};
  std::atomic<std::size_t> rewrite_over_{0};  // bytes
};

}  // namespace kvasir::tenancy

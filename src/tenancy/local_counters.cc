#include "tenancy/local_counters.h"

#include <algorithm>
#include <utility>

#include "obs/log.h"
#include "tenancy/journal_line.h"

namespace kvasir::tenancy {

using base::Result;
using base::Status;

namespace {

constexpr std::size_t kLeastRewrite = 1 << 20;  // bytes
constexpr std::size_t kGrowth = 8;              // factor over the size of the journal after its last rewrite
constexpr std::int64_t kTryAgainUs = 1'000'000;

bool has_limits(const Tier& tier) {
  return tier.requests_per_minute > 0 || tier.max_concurrent > 0 || most_tokens(tier) > 0;
}

}  // namespace

class LocalCounters::Held final : public Reservation {
 public:
  Held(std::shared_ptr<LocalCounters> counters, std::string tenant, Account& account, Account::Taken taken)
      : counters_(std::move(counters)), tenant_(std::move(tenant)), account_(account), taken_(taken) {}
  ~Held() override {
    if (!settled_) end([this] { account_.give_back(taken_); });
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  std::int64_t tokens() const override { return taken_.tokens; }
  void settle(std::int64_t used_tokens) override {
    CHECK(!settled_, "reservation {} was settled before", taken_.id);
    settled_ = true;
    end([&] { account_.settle(taken_, used_tokens); });
  }

 private:
  template <class Change>
  void end(const Change& change) {
    {
      Shard& shard = counters_->shard_of(tenant_);
      const std::lock_guard lock(shard.mutex);
      change();
      if (taken_.lasting()) counters_->write_down(shard, tenant_, account_.state());
    }
    counters_->tend_journal();
  }

  const std::shared_ptr<LocalCounters> counters_;
  const std::string tenant_;
  Account& account_;  // stays valid: an account is not forgotten while a request of it is inside
  const Account::Taken taken_;
  bool settled_ = false;
};

std::shared_ptr<LocalCounters> LocalCounters::in_memory(const base::WallClock& clock) {
  return std::shared_ptr<LocalCounters>(new LocalCounters(nullptr, clock, Journal::Durability::process));
}

Result<std::shared_ptr<LocalCounters>> LocalCounters::open(const std::filesystem::path& folder,
                                                           const base::WallClock& clock,
                                                           Journal::Durability durability) {
  std::error_code ignored;  // if this fails, opening the journal fails too, and that error is reported
  std::filesystem::create_directories(folder, ignored);
  std::shared_ptr<LocalCounters> counters(
      new LocalCounters(std::make_unique<Journal>(folder), clock, durability));
  TRY_OK(counters->journal_->read());
  counters->tend_journal();
  return counters;
}

LocalCounters::Shard& LocalCounters::shard_of(std::string_view tenant) {
  return shards_[Hash()(tenant) % kNumShards];
}

const LocalCounters::Shard& LocalCounters::shard_of(std::string_view tenant) const {
  return shards_[Hash()(tenant) % kNumShards];
}

Result<std::unique_ptr<Reservation>> LocalCounters::reserve(const Caller& caller, const Cost& cost) {
  if (!has_limits(*caller.tier)) return std::unique_ptr<Reservation>();
  const Moment now = moment_at(clock_.unix_us());
  std::unique_ptr<Reservation> held;
  {
    Shard& shard = shard_of(caller.tenant);
    const std::lock_guard lock(shard.mutex);
    auto it = shard.accounts.find(std::string_view(caller.tenant));
    if (it == shard.accounts.end()) {
      sweep(shard, now);
      it = shard.accounts.try_emplace(caller.tenant).first;
    }
    Account& account = it->second;
    TRY(const Account::Taken taken, account.reserve(*caller.tier, cost, now));
    held = std::make_unique<Held>(shared_from_this(), caller.tenant, account, taken);
    if (taken.lasting()) write_down(shard, caller.tenant, account.state());
  }
  tend_journal();
  return held;
}

Standings LocalCounters::standings(const Caller& caller) const {
  const std::int64_t now_us = clock_.unix_us();
  const Shard& shard = shard_of(caller.tenant);
  const std::lock_guard lock(shard.mutex);
  const auto it = shard.accounts.find(std::string_view(caller.tenant));
  return it == shard.accounts.end() ? Account().standings(*caller.tier, now_us)
                                    : it->second.standings(*caller.tier, now_us);
}

std::size_t LocalCounters::num_accounts() const {
  std::size_t count = 0;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    count += shard.accounts.size();
  }
  return count;
}

// Runs each time the number of accounts has doubled, so it costs O(1) per added account.
void LocalCounters::sweep(Shard& shard, const Moment& now) {
  if (shard.accounts.size() < shard.sweep_over) return;
  std::erase_if(shard.accounts, [&](const auto& entry) { return entry.second.forgettable(now); });
  shard.sweep_over = std::max<std::size_t>(64, 2 * shard.accounts.size());
}

// The caller holds the shard's mutex, so that a tenant's lines are in the order of its states.
void LocalCounters::write_down(Shard& shard, std::string_view tenant, const AccountState& state) {
  if (!journaling_.load(std::memory_order_relaxed)) return;
  shard.line.clear();
  write_journal_line(tenant, state, shard.line);
  // tend_journal reports a failure and mends the journal.
  if (journal_->append(shard.line).ok()) return;
  try_at_us_ = 0;
  journaling_ = false;
}

void LocalCounters::tend_journal() {
  if (!journal_) return;
  if (journaling_ && journal_->num_bytes() <= rewrite_over_) return;
  const Moment now = moment_at(clock_.unix_us());
  if (!journaling_ && now.unix_us < try_at_us_) return;
  const std::unique_lock lock(tending_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  try_at_us_ = now.unix_us + kTryAgainUs;
  Status done = has_lock_ ? write_anew(Journal::Durability::process) : take_over_journal(now);
  if (!done.ok()) {
    note_failure(done.error());
    return;
  }
  if (told_) obs::Log::info("limits_journal_mended", {{"path", journal_->path().string()}});
  told_ = false;
}

Status LocalCounters::take_over_journal(const Moment& now) {
  TRY(const bool locked, journal_->lock());
  if (!locked)
    return base::error(base::ErrorCode::conflict,
                       "another process with the same data folder has {}; each counts for itself",
                       journal_->path().string());
  TRY(const std::string text, journal_->read());
  has_lock_ = true;
  load(text, now);
  return write_anew(durability_);
}

void LocalCounters::load(std::string_view text, const Moment& now) {
  const JournalText journal = read_journal(text);
  if (journal.num_broken > 0)
    obs::Log::warn("limits_journal_damaged",
                   {{"path", journal_->path().string()}, {"lines_left_out", journal.num_broken}});
  std::unordered_map<std::string_view, const AccountState*> last;
  for (const JournalLine& line : journal.lines) last[line.tenant] = &line.state;
  for (const auto& [tenant, state] : last) {
    Shard& shard = shard_of(tenant);
    const std::lock_guard lock(shard.mutex);
    shard.accounts[std::string(tenant)].add(*state, now);
  }
}

Status LocalCounters::write_anew(Journal::Durability durability) {
  std::vector<std::unique_lock<std::mutex>> locks;
  for (Shard& shard : shards_) locks.emplace_back(shard.mutex);
  const Moment now = moment_at(clock_.unix_us());
  std::string text;
  for (Shard& shard : shards_)
    for (const auto& [tenant, account] : shard.accounts)
      if (!account.forgettable(now)) write_journal_line(tenant, account.state(), text);
  TRY_OK(journal_->replace(text, durability));
  rewrite_over_ = std::max(kLeastRewrite, kGrowth * text.size());
  journaling_ = true;
  return base::ok();
}

// After a failed rewrite, the old journal can still be appended to.
void LocalCounters::note_failure(const base::Error& error) {
  if (journaling_) rewrite_over_ = journal_->num_bytes() + kLeastRewrite;
  if (std::exchange(told_, true)) return;
  obs::Log::warn("limits_not_journaled",
                 {{"reason", error.message}, {"meanwhile", "limits are counted in memory"}});
}

}  // namespace kvasir::tenancy

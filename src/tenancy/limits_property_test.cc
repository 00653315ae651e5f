#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "store/temp_folder.h"
#include "tenancy/calendar.h"
#include "tenancy/local_counters.h"

namespace kvasir::tenancy {
namespace {

constexpr std::int64_t kSecondUs = 1'000'000;

// A grant, with the amounts that the limits should count for it now.
struct Grant {
  Moment at;
  std::int64_t tokens = 0;
  int requests = 1;
};

struct Running {
  std::size_t grant;  // index into the tenant's grants
  std::unique_ptr<Reservation> held;
};

// A tenant and everything that it was ever granted.
struct Tenant {
  Caller caller;
  std::vector<Grant> grants;
  std::vector<Running> running;
};

// Runs requests against counters with a journal, ends them in every way, kills and restarts the process at
// any moment, and compares the grants with the limits.
class World {
 public:
  explicit World(std::uint32_t seed) : random_(seed), folder_(std::make_unique<store::TempFolder>()) {
    for (int i = 0; i < 3; ++i) {
      Tier tier{.requests_per_minute = pick(1, 40), .tokens_per_minute = pick(50, 5000)};
      if (pick(0, 1) == 1) tier.tokens_per_day = pick(tier.tokens_per_minute, 4 * tier.tokens_per_minute);
      if (pick(0, 1) == 1) tier.tokens_per_month = pick(tier.tokens_per_minute, 9 * tier.tokens_per_minute);
      if (pick(0, 2) == 0) tier.max_concurrent = static_cast<int>(pick(1, 6));
      Tenant& tenant = tenants_.emplace_back();
      tenant.caller = caller_of_tenant("tenant " + std::to_string(i));
      tenant.caller.tier = std::make_shared<const Tier>(tier);
    }
    counters_ = LocalCounters::open(folder_->path(), clock_, Journal::Durability::process).value();
  }

  void step() {
    Tenant& tenant = tenants_[static_cast<std::size_t>(pick(0, 2))];
    const std::int64_t what = pick(0, 99);
    if (what < 45)
      begin(tenant);
    else if (what < 65)
      end(tenant);
    else if (what < 97)
      wait();
    else if (what < 99)
      crash();
    else
      restart();
  }

  void settle_all() {
    for (Tenant& tenant : tenants_)
      while (!tenant.running.empty()) end(tenant);
  }

  void check() const {
    for (const Tenant& tenant : tenants_) {
      const Tier& tier = *tenant.caller.tier;
      check_windows(tenant, tier.tokens_per_minute, [](const Grant& grant) { return grant.tokens; });
      check_windows(tenant, tier.requests_per_minute, [](const Grant& grant) { return grant.requests; });
      check_budget(tenant, tier.tokens_per_day, [](const Grant& grant) { return grant.at.day; });
      check_budget(tenant, tier.tokens_per_month, [](const Grant& grant) { return grant.at.month; });
      if (tier.max_concurrent > 0) {
        EXPECT_LE(std::ranges::count_if(
                      tenant.running,
                      [&](const Running& running) { return tenant.grants[running.grant].requests > 0; }),
                  tier.max_concurrent);
      }
    }
  }

  // After everything is settled, a bucket holds what it would hold if only the tokens really used had been
  // taken, at the time of their grants. The budgets hold all unused tokens.
  void check_all_is_back() {
    for (const Tenant& tenant : tenants_) {
      ASSERT_TRUE(tenant.running.empty());
      const Tier& tier = *tenant.caller.tier;
      const std::int64_t now_us = clock_.unix_us();
      double short_of = 0;
      std::int64_t last_us = 0;
      const double per_us = static_cast<double>(tier.tokens_per_minute) / kMinuteUs;
      for (const Grant& grant : tenant.grants) {
        short_of = std::max(0.0, short_of - static_cast<double>(grant.at.unix_us - last_us) * per_us);
        short_of += static_cast<double>(grant.tokens);
        last_us = grant.at.unix_us;
      }
      short_of = std::max(0.0, short_of - static_cast<double>(now_us - last_us) * per_us);
      const auto left = static_cast<double>(counters_->standings(tenant.caller).tokens.left);
      EXPECT_NEAR(left, static_cast<double>(tier.tokens_per_minute) - short_of, 2) << tenant.caller.tenant;
    }
    clock_.advance(std::chrono::minutes(1));
    for (const Tenant& tenant : tenants_) {
      const Standings now = counters_->standings(tenant.caller);
      EXPECT_EQ(now.tokens.left, now.tokens.limit);
      EXPECT_EQ(now.requests.left, now.requests.limit);
      const std::int64_t rest = rest_of_budgets(tenant);
      const std::int64_t most = std::min(rest, tenant.caller.tier->tokens_per_minute);
      if (most > 0) {
        EXPECT_TRUE(counters_->reserve(tenant.caller, {.tokens = most}).ok());
      }
      if (rest < tenant.caller.tier->tokens_per_minute) {
        EXPECT_FALSE(counters_->reserve(tenant.caller, {.tokens = rest + 1}).ok());
      }
    }
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  void begin(Tenant& tenant) {
    const std::int64_t most = tenant.caller.tier->tokens_per_minute;
    const Moment now = moment_at(clock_.unix_us());
    Cost cost{.tokens = pick(1, most + most / 8), .requests = pick(0, 4) == 0 ? 0 : 1};
    if (pick(0, 2) == 0) cost.least_tokens = pick(1, cost.tokens);
    auto held = counters_->reserve(tenant.caller, cost);
    if (!held.ok()) return;
    ASSERT_LE((*held)->tokens(), cost.tokens);
    undo_ = {.tenant = &tenant, .grant = tenant.grants.size(), .before = std::nullopt};
    tenant.grants.push_back({now, (*held)->tokens(), cost.requests});
    tenant.running.push_back({tenant.grants.size() - 1, std::move(*held)});
  }

  void end(Tenant& tenant) {
    if (tenant.running.empty()) return;
    const auto number = pick(0, static_cast<std::int64_t>(tenant.running.size()) - 1);
    const auto it = tenant.running.begin() + number;
    Grant& grant = tenant.grants[it->grant];
    undo_ = {.tenant = &tenant, .grant = it->grant, .before = grant};
    if (pick(0, 3) == 0) {
      it->held.reset();  // the request never ran
      grant.tokens = grant.requests = 0;
    } else {
      grant.tokens = pick(0, grant.tokens);
      it->held->settle(grant.tokens);
    }
    tenant.running.erase(it);
  }

  // Mostly waits a short time, sometimes past the end of a day or a month.
  void wait() {
    const std::int64_t kind = pick(0, 40);
    std::int64_t us = pick(0, 3 * kSecondUs);
    if (kind == 0) us = pick(0, 30 * kDayUs);
    if (kind > 0 && kind < 5) us = pick(0, 100 * kSecondUs);
    clock_.advance(std::chrono::microseconds(us));
  }

  // Running requests are gone, and their reservations count in full. A grant whose line was cut off did not
  // happen: its caller got no answer.
  void crash() {
    std::string text = journal();
    const std::size_t last = text.size() < 2 ? 0 : text.rfind('\n', text.size() - 2) + 1;
    const auto cut = static_cast<std::size_t>(
        pick(static_cast<std::int64_t>(last), static_cast<std::int64_t>(text.size())));
    const bool torn = cut < text.size() && undo_.tenant != nullptr;
    // Right after a restart there is one line for each tenant, and the last one may belong to any tenant.
    if (cut < text.size() && undo_.tenant == nullptr) return;
    if (torn) {
      std::vector<Grant>& grants = undo_.tenant->grants;
      if (undo_.before)
        grants[undo_.grant] = *undo_.before;
      else
        grants.resize(undo_.grant);
    }
    auto next = std::make_unique<store::TempFolder>();
    std::ofstream(next->path() / "limits.journal", std::ios::binary) << text.substr(0, cut);
    for (Tenant& tenant : tenants_) tenant.running.clear();  // they settle into the old journal
    folder_ = std::move(next);
    reopen();
  }

  void restart() {
    settle_all();
    reopen();
  }

  void reopen() {
    counters_.reset();
    counters_ = LocalCounters::open(folder_->path(), clock_, Journal::Durability::process).value();
    ASSERT_TRUE(counters_->journaling());
    undo_ = {};
  }

  std::string journal() const {
    std::ifstream in(folder_->path() / "limits.journal", std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // From any grant to any later one, the sum is at most a full bucket plus the refill of the time between.
  template <class Amount>
  void check_windows(const Tenant& tenant, std::int64_t per_minute, Amount amount) const {
    const std::vector<Grant>& grants = tenant.grants;
    for (std::size_t first = 0; first < grants.size(); ++first) {
      double sum = 0;
      for (std::size_t last = first; last < grants.size(); ++last) {
        sum += static_cast<double>(amount(grants[last]));
        const auto time_us = static_cast<double>(grants[last].at.unix_us - grants[first].at.unix_us);
        const double bound = static_cast<double>(per_minute) * (1 + time_us / kMinuteUs);
        ASSERT_LE(sum, bound + 1e-6) << tenant.caller.tenant << ": grants " << first << " to " << last;
        if (time_us > 10.0 * kMinuteUs) break;  // a longer window consists of shorter ones
      }
    }
  }

  template <class Period>
  void check_budget(const Tenant& tenant, std::int64_t budget, Period period) const {
    if (budget == 0) return;
    std::map<std::int64_t, std::int64_t> spent;
    for (const Grant& grant : tenant.grants) spent[period(grant)] += grant.tokens;
    for (const auto& [number, tokens] : spent) EXPECT_LE(tokens, budget) << number;
  }

  std::int64_t rest_of_budgets(const Tenant& tenant) const {
    const Tier& tier = *tenant.caller.tier;
    const Moment now = moment_at(clock_.unix_us());
    std::int64_t day = tier.tokens_per_day > 0 ? tier.tokens_per_day : 1'000'000'000;
    std::int64_t month = tier.tokens_per_month > 0 ? tier.tokens_per_month : 1'000'000'000;
    for (const Grant& grant : tenant.grants) {
      if (grant.at.day == now.day) day -= grant.tokens;
      if (grant.at.month == now.month) month -= grant.tokens;
    }
    return std::min(day, month);
  }

  struct Undo {
    Tenant* tenant = nullptr;
    std::size_t grant = 0;
    std::optional<Grant> before;  // empty: the last action was the grant itself
  };

  std::mt19937 random_;
  base::FakeWallClock clock_{1'800'000'000'000'000};
  std::unique_ptr<store::TempFolder> folder_;
  std::shared_ptr<LocalCounters> counters_;
  std::vector<Tenant> tenants_;
  Undo undo_;  // the action that the journal's last line recorded
};

TEST(Limits, HoldOverAnyMixOfEndsCrashesAndRestarts) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    World world(seed);
    for (int i = 0; i < 400; ++i) {
      world.step();
      if (i % 50 == 0) world.check();
    }
    world.settle_all();
    world.check();
    world.check_all_is_back();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace kvasir::tenancy

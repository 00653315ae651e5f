#include "tenancy/account.h"

#include <algorithm>
#include <limits>

#include "tenancy/refusal.h"

namespace kvasir::tenancy {

using base::Result;

namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kNoBudget = -1;

std::int64_t or_unlimited(std::int64_t limit) {
  return limit > 0 ? limit : kUnlimited;
}

std::string_view name_of_least(const Tier& tier) {
  const std::int64_t least = most_tokens(tier);
  if (least == tier.tokens_per_minute) return "tokens per minute";
  return least == tier.tokens_per_day ? "tokens per day" : "tokens per month";
}

}  // namespace

std::int64_t most_tokens(const Tier& tier) {
  const std::int64_t most = std::min({or_unlimited(tier.tokens_per_minute), or_unlimited(tier.tokens_per_day),
                                      or_unlimited(tier.tokens_per_month)});
  return most == kUnlimited ? 0 : most;
}

std::int64_t Account::tokens_left(const Tier& tier, const Moment& now) const {
  std::int64_t left = kUnlimited;
  if (tier.tokens_per_minute > 0) left = tokens_.left(now.unix_us, tier.tokens_per_minute);
  if (tier.tokens_per_day > 0) left = std::min(left, tier.tokens_per_day - day_.in(now.day));
  if (tier.tokens_per_month > 0) left = std::min(left, tier.tokens_per_month - month_.in(now.month));
  return left;
}

// A request that limits the length of its answer gets its whole cost. Any other gets half of the tokens left,
// so that other requests can run beside it.
std::int64_t Account::tokens_to_grant(const Tier& tier, const Cost& cost, const Moment& now) const {
  if (!cost.flexible()) return cost.tokens;
  return std::clamp(tokens_left(tier, now) / 2, cost.least_tokens, cost.tokens);
}

base::Status Account::check(const Tier& tier, const Cost& cost, std::int64_t tokens,
                            const Moment& now) const {
  if (const std::int64_t most = most_tokens(tier); most > 0 && tokens > most)
    return over_for_ever(name_of_least(tier), most, tokens);
  if (tier.tokens_per_month > 0 && month_.in(now.month) + tokens > tier.tokens_per_month)
    return over_budget(
        {"month", tier.tokens_per_month, month_.in(now.month), month_.held, tokens, us_to_next_month(now)});
  if (tier.tokens_per_day > 0 && day_.in(now.day) + tokens > tier.tokens_per_day)
    return over_budget(
        {"day", tier.tokens_per_day, day_.in(now.day), day_.held, tokens, us_to_next_day(now)});
  const std::int64_t per_minute = tier.tokens_per_minute;
  const std::int64_t wait_us =
      per_minute > 0 ? tokens_.wait_us(TokenBucket::time_of(tokens, per_minute), now.unix_us) : 0;
  const std::int64_t requests = tier.requests_per_minute;
  const std::int64_t requests_wait_us =
      requests > 0 ? requests_.wait_us(TokenBucket::time_of(cost.requests, requests), now.unix_us) : 0;
  if (requests_wait_us > 0 && requests_wait_us >= wait_us)
    return over_minute(
        {"requests", requests, requests_.left(now.unix_us, requests), cost.requests, requests_wait_us});
  if (wait_us > 0)
    return over_minute({"tokens", per_minute, tokens_.left(now.unix_us, per_minute), tokens, wait_us});
  if (tier.max_concurrent > 0 && cost.requests > 0 && num_inside_ >= tier.max_concurrent)
    return over_concurrency(tier.max_concurrent);
  return base::ok();
}

Result<Account::Taken> Account::reserve(const Tier& tier, const Cost& cost, const Moment& now) {
  requests_.notice(now.unix_us);
  tokens_.notice(now.unix_us);
  const std::int64_t tokens = tokens_to_grant(tier, cost, now);
  TRY_OK(check(tier, cost, tokens, now));
  Taken taken{.id = next_id_++,
              .tokens = tokens,
              .requests_per_minute = cost.requests > 0 ? tier.requests_per_minute : 0,
              .tokens_per_minute = tier.tokens_per_minute,
              .requests = cost.requests,
              .day = kNoBudget,
              .month = kNoBudget};
  if (taken.requests_per_minute > 0)
    requests_.reserve(taken.id, TokenBucket::time_of(taken.requests, taken.requests_per_minute), now.unix_us);
  if (taken.tokens_per_minute > 0)
    tokens_.reserve(taken.id, TokenBucket::time_of(tokens, taken.tokens_per_minute), now.unix_us);
  if (tier.tokens_per_day > 0) {
    day_.reserve(tokens, now.day);
    taken.day = day_.period;
  }
  if (tier.tokens_per_month > 0) {
    month_.reserve(tokens, now.month);
    taken.month = month_.period;
  }
  ++num_inside_;
  return taken;
}

void Account::settle(const Taken& taken, std::int64_t used_tokens) {
  if (taken.requests_per_minute > 0)
    requests_.settle(taken.id, TokenBucket::time_of(taken.requests, taken.requests_per_minute));
  if (taken.tokens_per_minute > 0)
    tokens_.settle(taken.id, TokenBucket::time_of(used_tokens, taken.tokens_per_minute));
  day_.settle(taken.tokens, used_tokens, taken.day);
  month_.settle(taken.tokens, used_tokens, taken.month);
  --num_inside_;
}

void Account::give_back(const Taken& taken) {
  if (taken.requests_per_minute > 0) requests_.settle(taken.id, 0);
  if (taken.tokens_per_minute > 0) tokens_.settle(taken.id, 0);
  day_.settle(taken.tokens, 0, taken.day);
  month_.settle(taken.tokens, 0, taken.month);
  --num_inside_;
}

Standings Account::standings(const Tier& tier, std::int64_t now_us) const {
  const auto standing = [&](const TokenBucket& bucket, std::int64_t limit) {
    return limit > 0 ? Standing{limit, bucket.left(now_us, limit), bucket.full_in_us(now_us)} : Standing{};
  };
  const Moment now = moment_at(now_us);
  const auto spent = [](std::int64_t limit, std::int64_t used) {
    return limit > 0 ? Spent{limit, used} : Spent{};
  };
  return {.requests = standing(requests_, tier.requests_per_minute),
          .tokens = standing(tokens_, tier.tokens_per_minute),
          .inside = spent(tier.max_concurrent, num_inside_),
          .day = spent(tier.tokens_per_day, day_.in(now.day)),
          .month = spent(tier.tokens_per_month, month_.in(now.month))};
}

AccountState Account::state() const {
  return {requests_.full_at_us(), tokens_.full_at_us(), day_, month_};
}

void Account::add(const AccountState& other, const Moment& now) {
  requests_.take(TokenBucket(other.requests_full_at_us).full_in_us(now.unix_us), now.unix_us);
  tokens_.take(TokenBucket(other.tokens_full_at_us).full_in_us(now.unix_us), now.unix_us);
  if (other.day.in(now.day) > 0) day_.add(other.day.tokens, now.day);
  if (other.month.in(now.month) > 0) month_.add(other.month.tokens, now.month);
}

bool Account::forgettable(const Moment& now) const {
  return num_inside_ == 0 && requests_.is_full(now.unix_us) && tokens_.is_full(now.unix_us) &&
         day_.in(now.day) == 0 && month_.in(now.month) == 0;
}

}  // namespace kvasir::tenancy

#include "tenancy/refusal.h"

#include <algorithm>

namespace kvasir::tenancy {

using base::Error;
using base::ErrorCode;

namespace {

constexpr double kNever = -1;

Error refusal(std::string message, const char* reason, double retry_after_s) {
  return {.code = ErrorCode::exhausted,
          .message = std::move(message),
          .reason = reason,
          .retry_after_s = retry_after_s};
}

double as_seconds(std::int64_t us) {
  return static_cast<double>(us) / 1e6;
}

}  // namespace

Error over_minute(const MinuteLimit& over) {
  const double wait_s = as_seconds(over.wait_us);
  return refusal(fmt::format("rate limit reached: of {} {} per minute {} are left, and the request needs up "
                             "to {}; try again in {:.3f} s",
                             over.limit, over.unit, over.left, over.asked, wait_s),
                 "rate_limit_exceeded", wait_s);
}

Error over_concurrency(int limit) {
  return refusal(fmt::format("rate limit reached: {} of {} concurrent requests are running, 0 are left, and "
                             "the request needs 1; try again when one has ended",
                             limit, limit),
                 "rate_limit_exceeded", 1);
}

Error over_budget(const Budget& over) {
  const std::int64_t left = std::max<std::int64_t>(0, over.limit - over.spent);
  if (over.spent - over.held + over.asked <= over.limit)
    return refusal(
        fmt::format("rate limit reached: of {} tokens a {} (UTC) {} are left while running requests "
                    "hold {}, and the request needs up to {}; try again when one has ended",
                    over.limit, over.period, left, over.held, over.asked),
        "rate_limit_exceeded", 1);
  const double wait_s = as_seconds(over.wait_us);
  const char* const reason = "insufficient_quota";
  return refusal(
      fmt::format("the budget of {} tokens a {} (UTC) has {} left, and the request needs up to {}; the next "
                  "{} begins in {:.0f} s",
                  over.limit, over.period, left, over.asked, over.period, wait_s),
      reason, wait_s);
}

Error over_for_ever(std::string_view limit_name, std::int64_t limit, std::int64_t asked) {
  return refusal(fmt::format("the request is too large: it needs up to {} tokens, prompt and max_tokens of "
                             "all answers together, and the limit of {} is {}; trying again does not help, "
                             "a shorter prompt or a smaller max_tokens does",
                             asked, limit_name, limit),
                 "rate_limit_exceeded", kNever);
}

}  // namespace kvasir::tenancy

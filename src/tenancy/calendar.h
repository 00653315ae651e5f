#pragma once

#include <chrono>
#include <cstdint>

namespace kvasir::tenancy {

// A moment, with its day and its month in UTC. Days and months are counted from 1970.
struct Moment {
  std::int64_t unix_us = 0;
  std::int64_t day = 0;
  std::int64_t month = 0;
};

inline constexpr std::int64_t kDayUs = 86'400'000'000;

inline Moment moment_at(std::int64_t unix_us) {
  const std::int64_t day = unix_us / kDayUs;
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
  return {unix_us, day, (int{date.year()} - 1970) * 12LL + unsigned{date.month()} - 1};
}

inline std::int64_t us_to_next_day(const Moment& now) {
  return (now.day + 1) * kDayUs - now.unix_us;
}

inline std::int64_t us_to_next_month(const Moment& now) {
  const std::int64_t next = now.month + 1;
  const std::chrono::sys_days first(std::chrono::year(static_cast<int>(1970 + next / 12)) /
                                    std::chrono::month(static_cast<unsigned>(next % 12 + 1)) / 1);
  return first.time_since_epoch().count() * kDayUs - now.unix_us;
}

}  // namespace kvasir::tenancy

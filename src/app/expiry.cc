#include "app/expiry.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

namespace kvasir::app {

namespace {

constexpr std::int64_t kMinute_ms = 60'000;
constexpr std::int64_t kMaxCount = 1'000'000;

base::Error no_time(std::string_view text) {
  return base::error(base::ErrorCode::invalid_argument,
                     "--expires: expected a time such as 90d, 12h, 30m, 2027-01-31 or "
                     "2027-01-31T12:00:00Z, and got '{}'",
                     text);
}

// Removes a number of `num_digits` digits, and `sign` after it, from the front of the text.
bool take(std::string_view& text, std::size_t num_digits, std::string_view sign, int& into) {
  if (text.size() < num_digits + sign.size()) return false;
  const char* end = text.data() + num_digits;
  const auto [stopped, problem] = std::from_chars(end - num_digits, end, into);
  if (problem != std::errc() || stopped != end || into < 0) return false;
  text.remove_prefix(num_digits);
  if (!text.starts_with(sign)) return false;
  text.remove_prefix(sign.size());
  return true;
}

base::Result<std::int64_t> parse_date(const std::string& given) {
  std::string_view text = given;
  std::array<int, 6> n{};
  if (!take(text, 4, "-", n[0]) || !take(text, 2, "-", n[1]) || !take(text, 2, "", n[2]))
    return no_time(given);
  if (!text.empty()) {
    if (!text.starts_with('T') && !text.starts_with(' ')) return no_time(given);
    text.remove_prefix(1);
    if (!take(text, 2, ":", n[3]) || !take(text, 2, ":", n[4]) || !take(text, 2, "Z", n[5]) || !text.empty())
      return no_time(given);
  }
  const std::chrono::year_month_day day{std::chrono::year(n[0]),
                                        std::chrono::month(static_cast<unsigned>(n[1])),
                                        std::chrono::day(static_cast<unsigned>(n[2]))};
  if (!day.ok() || n[3] > 23 || n[4] > 59 || n[5] > 59) return no_time(given);
  const auto moment = std::chrono::sys_days(day) + std::chrono::hours(n[3]) + std::chrono::minutes(n[4]) +
                      std::chrono::seconds(n[5]);
  return std::chrono::duration_cast<std::chrono::milliseconds>(moment.time_since_epoch()).count();
}

}  // namespace

base::Result<std::int64_t> parse_expiry(const std::string& text, std::int64_t now_ms) {
  constexpr std::array<std::pair<char, std::int64_t>, 3> kUnits = {
      {{'m', kMinute_ms}, {'h', 60 * kMinute_ms}, {'d', 24 * 60 * kMinute_ms}}};
  std::int64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data(), end, count);
  if (problem == std::errc() && stopped == end - 1 && count > 0 && count <= kMaxCount)
    for (const auto& [letter, unit_ms] : kUnits)
      if (*stopped == letter) return now_ms + count * unit_ms;
  TRY(const std::int64_t moment, parse_date(text));
  if (moment <= now_ms) return base::error(base::ErrorCode::invalid_argument, "--expires: {} is over", text);
  return moment;
}

std::string moment_text(std::int64_t ms) {
  if (ms == 0) return "never";
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(static_cast<std::time_t>(ms / 1000)));
}

std::int64_t unix_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace kvasir::app

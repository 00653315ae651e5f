#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

// Error messages for a caller that met a limit.
namespace kvasir::tenancy {

struct MinuteLimit {
  std::string_view unit;  // "requests" or "tokens"
  std::int64_t limit = 0;
  std::int64_t left = 0;
  std::int64_t asked = 0;
  std::int64_t wait_us = 0;
};
base::Error over_minute(const MinuteLimit& over);

base::Error over_concurrency(int limit);

struct Budget {
  std::string_view period;  // "day" or "month"
  std::int64_t limit = 0;
  std::int64_t spent = 0;
  std::int64_t held = 0;  // part of `spent` held by running requests, which may return some of it
  std::int64_t asked = 0;
  std::int64_t wait_us = 0;
};
// The budget is spent, or will be free again only when running requests return what they do not use.
base::Error over_budget(const Budget& over);

// The request needs more than the limit ever allows, so trying again does not help.
base::Error over_for_ever(std::string_view limit_name, std::int64_t limit, std::int64_t asked);

}  // namespace kvasir::tenancy

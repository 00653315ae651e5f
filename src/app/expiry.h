#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace kvasir::app {

// When "90d", "12h", "30m", "2027-01-31" or "2027-01-31T12:00:00Z" is, in milliseconds since the epoch; a
// date is its first moment, in UTC.
base::Result<std::int64_t> parse_expiry(const std::string& text, std::int64_t now_ms);

// "2027-01-31 12:00", in UTC; "never" for 0.
std::string moment_text(std::int64_t ms);

std::int64_t unix_ms();

}  // namespace kvasir::app

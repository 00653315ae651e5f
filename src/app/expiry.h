#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace kvasir::app {

// Parses "90d", "12h", "30m", "2027-01-31" or "2027-01-31T12:00:00Z" into milliseconds since the epoch. A
// date means its first moment in UTC.
base::Result<std::int64_t> parse_expiry(const std::string& text, std::int64_t now_ms);

// Writes a moment as "2027-01-31 12:00" in UTC; 0 is "never".
std::string moment_text(std::int64_t ms);

std::int64_t unix_ms();

}  // namespace kvasir::app

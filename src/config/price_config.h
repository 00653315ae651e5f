#pragma once

#include <cstdint>
#include <string>

namespace kvasir::config {

// One `[[prices]]` table of the settings file: the prices of a million tokens, in 1e-9 of the currency's
// unit.
struct PriceConfig {
  std::string model;  // empty: every model
  std::string tier;   // empty: every tier
  std::int64_t prompt_nano = 0;
  std::int64_t cached_nano = 0;  // for prompt tokens from the prefix cache
  std::int64_t completion_nano = 0;
  std::string currency;
};

}  // namespace kvasir::config

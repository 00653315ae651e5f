#pragma once

#include <cstdint>
#include <string>

namespace kvasir::config {

// One `[[prices]]` of the settings file: what a million tokens cost. Amounts are 1e-9 of the currency's unit.
struct PriceConfig {
  std::string model;  // empty: every model
  std::string tier;   // empty: every tier
  std::int64_t prompt_nano = 0;
  std::int64_t cached_nano = 0;  // of the prompt, taken from the prefix cache
  std::int64_t completion_nano = 0;
  std::string currency;
};

}  // namespace kvasir::config

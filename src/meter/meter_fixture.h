#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "meter/usage_record.h"
#include "store/sqlite_store.h"
#include "store/temp_folder.h"

namespace kvasir::meter {

// For tests: record number `i`, which differs from all others in its tokens.
inline UsageRecord record_number(int i) {
  UsageRecord record;
  record.id = fmt::format("req-{}", i);
  record.tenant = "t";
  record.key = fmt::format("k{}", i % 3);
  record.model = i % 2 == 0 ? "m" : "n";
  record.endpoint = "/v1/chat/completions";
  record.prompt_tokens = i + 1;
  record.cached_tokens = i / 2;
  record.completion_tokens = 2 * i;
  record.ttft_ms = 5;
  record.total_ms = 9;
  record.finish = i % 5 == 0 ? Finish::cancelled : Finish::stop;
  record.cost_nano = 3 * i;
  record.currency = "USD";
  record.time_ms = std::int64_t{86'400'000} * (i / 4);
  return record;
}

// The totals of the first `num_records` records.
inline store::UsageTotals expected_totals(int num_records) {
  store::UsageTotals sum;
  for (int i = 0; i < num_records; ++i) sum += totals_of(record_number(i)).totals;
  return sum;
}

inline store::UsageTotals all_totals(store::Usage& usage) {
  const auto rows = usage.totals({.end_day = 1 << 20}).value();
  return rows.empty() ? store::UsageTotals{} : rows.front().totals;
}

inline bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace kvasir::meter

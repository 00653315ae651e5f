#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kvasir::store {

// What totals are kept of. Amounts of two currencies are never added.
struct UsageGroup {
  std::string tenant;
  std::int64_t day = 0;  // since the epoch, UTC
  std::string key;       // empty: none was shown
  std::string model;
  std::string currency;  // empty: the model had no price
  auto operator<=>(const UsageGroup&) const = default;
};

struct UsageTotals {
  std::int64_t num_requests = 0;
  std::int64_t num_cancelled = 0;  // of those: the client left before the end
  std::int64_t num_failed = 0;     // of those
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;  // of the prompts'
  std::int64_t completion_tokens = 0;
  std::int64_t cost_nano = 0;  // 1e-9 of the currency's unit
  bool operator==(const UsageTotals&) const = default;

  UsageTotals& operator+=(const UsageTotals& more) {
    num_requests += more.num_requests;
    num_cancelled += more.num_cancelled;
    num_failed += more.num_failed;
    prompt_tokens += more.prompt_tokens;
    cached_tokens += more.cached_tokens;
    completion_tokens += more.completion_tokens;
    cost_nano += more.cost_nano;
    return *this;
  }
};

struct UsageRow {
  UsageGroup group;
  UsageTotals totals;
};

// What the part of a log between two positions adds up to.
struct UsageFold {
  std::string log;
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::vector<UsageRow> rows = {};
};

struct UsageQuery {
  std::optional<std::string> tenant;  // unset: all
  std::int64_t first_day = 0;
  std::int64_t end_day = 0;  // exclusive
  // What is not told apart is empty in the rows, or 0.
  bool by_tenant = false;
  bool by_day = false;
  bool by_key = false;
  bool by_model = false;
  int limit = 100;
  std::int64_t offset = 0;  // rows that are left out
};

// Totals of what was used, made of logs of records. Calls block and are thread-safe.
class Usage {
 public:
  virtual ~Usage() = default;

  // Adds the rows and moves the log's position to `to`, both or neither. conflict: the position is not
  // `from`, so this part of the log was folded before.
  virtual base::Status fold(const UsageFold& fold) = 0;
  // Up to where a log is folded; 0 for one that is not known.
  virtual base::Result<std::int64_t> position(const std::string& log) = 0;
  // The log is gone, and nothing of it will be folded again.
  virtual base::Status forget(const std::string& log) = 0;
  // By day, tenant, key, model and currency.
  virtual base::Result<std::vector<UsageRow>> totals(const UsageQuery& query) = 0;
};

}  // namespace kvasir::store

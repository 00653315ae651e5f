#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kvasir::store {

// The key of one total. Amounts in different currencies are never added.
struct UsageGroup {
  std::string tenant;
  std::int64_t day = 0;  // since the epoch, UTC
  std::string key;       // the id of the API key; empty: the caller showed none
  std::string model;
  std::string currency;  // empty: the model had no price
  auto operator<=>(const UsageGroup&) const = default;
};

struct UsageTotals {
  std::int64_t num_requests = 0;
  std::int64_t num_cancelled = 0;  // requests whose client left before the end
  std::int64_t num_failed = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;  // part of the prompt tokens
  std::int64_t completion_tokens = 0;
  std::int64_t cost_nano = 0;  // in 1e-9 of the currency's unit
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

// The sums of the records between two positions of a log.
struct UsageFold {
  std::string log;
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::vector<UsageRow> rows = {};
};

struct UsageQuery {
  std::optional<std::string> tenant;  // unset: all tenants
  std::int64_t first_day = 0;
  std::int64_t end_day = 0;  // exclusive
  // How totals are grouped. A field that is not grouped by is empty or 0 in the rows.
  bool by_tenant = false;
  bool by_day = false;
  bool by_key = false;
  bool by_model = false;
  int limit = 100;
  std::int64_t offset = 0;  // rows to skip
};

// Totals of usage, which are folded from logs of usage records. Calls block and are thread-safe.
class Usage {
 public:
  virtual ~Usage() = default;

  // Adds the rows and moves the log's position to `to` in one transaction. conflict: the position is not
  // `from`, so this part of the log is already folded.
  virtual base::Status fold(const UsageFold& fold) = 0;
  // The position up to which the log is folded; 0 for an unknown log.
  virtual base::Result<std::int64_t> position(const std::string& log) = 0;
  // Drops the position of a log that was deleted and will never be folded again.
  virtual base::Status forget(const std::string& log) = 0;
  // Sorted by day, tenant, key, model and currency.
  virtual base::Result<std::vector<UsageRow>> totals(const UsageQuery& query) = 0;
};

}  // namespace kvasir::store

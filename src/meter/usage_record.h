#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/usage.h"

namespace kvasir::meter {

enum class Finish : std::uint8_t {
  stop,
  length,
  tool_calls,
  cancelled,  // the client left, or the server ended, before the end
  failed,     // not the client's fault: it costs nothing
};
std::string_view name_of(Finish finish);

// What one request used, all rounds of its tools together.
struct UsageRecord {
  enum class Kind : std::uint8_t {
    request,
    summary,  // made of old turns for a request that has a record of its own; not counted as another
  };

  Kind kind = Kind::request;
  std::string id;  // the request's, as the client sees it; not unique where clients choose it
  std::string tenant;
  std::string key;  // its id; empty: none was shown
  std::string model;
  std::string adapter;   // empty: none
  std::string endpoint;  // the route's path
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;  // of the prompt's
  std::int64_t completion_tokens = 0;
  std::int64_t ttft_ms = -1;  // -1: there was no token
  std::int64_t total_ms = 0;
  Finish finish = Finish::cancelled;
  std::int64_t cost_nano = 0;  // 1e-9 of the currency's unit
  std::string currency;        // empty: the model has no price
  std::int64_t time_ms = 0;    // of the end, since the epoch
  bool operator==(const UsageRecord&) const = default;
};

// The bytes that stand in a log.
std::string encode(const UsageRecord& record);
// corrupt: they are not those of a record.
base::Result<UsageRecord> decode(std::string_view bytes);

// What the record adds to which total.
store::UsageRow totals_of(const UsageRecord& record);

}  // namespace kvasir::meter

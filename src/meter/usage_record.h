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
  cancelled,  // the client left or the server ended before the end
  failed,     // the server's fault, so the request costs nothing
};
std::string_view name_of(Finish finish);

// The usage of one request. Tool rounds are summed in one record.
struct UsageRecord {
  enum class Kind : std::uint8_t {
    request,
    summary,  // a summary of old turns for a request with its own record; not counted as a request
  };

  Kind kind = Kind::request;
  std::string id;  // the request's id; not unique, since clients may choose it
  std::string tenant;
  std::string key;  // the id of the API key; empty: the caller showed none
  std::string model;
  std::string adapter;   // empty: none
  std::string endpoint;  // the route's path
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;  // part of the prompt tokens
  std::int64_t completion_tokens = 0;
  std::int64_t ttft_ms = -1;  // -1: there was no token
  std::int64_t total_ms = 0;
  Finish finish = Finish::cancelled;
  std::int64_t cost_nano = 0;  // in 1e-9 of the currency's unit
  std::string currency;        // empty: the model has no price
  std::int64_t time_ms = 0;    // when the request ended, since the epoch
  bool operator==(const UsageRecord&) const = default;
};

// The bytes of a record in a log.
std::string encode(const UsageRecord& record);
// corrupt: the bytes are not a record.
base::Result<UsageRecord> decode(std::string_view bytes);

// The amounts that the record adds to the totals.
store::UsageRow totals_of(const UsageRecord& record);

}  // namespace kvasir::meter

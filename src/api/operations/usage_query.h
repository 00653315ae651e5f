#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/object_schema.h"
#include "store/usage.h"
#include "tenancy/caller.h"

namespace kvasir::api {

enum class UsageFormat : std::uint8_t { json, csv };

// Which totals a query asks for, and how they are to be written.
struct UsageRequest {
  store::UsageQuery query;
  std::vector<std::string> groups;  // by which totals are told apart, as the client named them
  UsageFormat format = UsageFormat::json;
};

// Dates are days in UTC; without them the last 30 days up to `today` (since the epoch).
base::Result<UsageRequest> read_usage_query(std::string_view query, const tenancy::Caller& caller,
                                            std::int64_t today);
json::object usage_query_schema();

// The answer; `rows` may have one more than asked for, which says that there are more.
json::object usage_object(const UsageRequest& request, std::vector<store::UsageRow> rows);
// With a line of names first. `next_page` is set where there are more.
std::string usage_csv(const UsageRequest& request, std::vector<store::UsageRow> rows, std::string& next_page);

}  // namespace kvasir::api

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/json/object_schema.h"
#include "store/usage.h"

namespace kvasir::api {

enum class UsageFormat : std::uint8_t { json, csv };

// Which totals a query asks for, and in which format.
struct UsageRequest {
  store::UsageQuery query;
  std::vector<std::string> groups;  // names from `group_by`, in the client's order
  UsageFormat format = UsageFormat::json;
};

// Dates are days in UTC. The default is the last 30 days up to `today` (in days since the epoch).
// `own_tenant` is the only tenant that may be shown; absent for administrators, who may name any.
base::Result<UsageRequest> read_usage_query(std::string_view query,
                                            const std::optional<std::string>& own_tenant, std::int64_t today);
json::object usage_query_schema();

// Makes the answer. If there is one row more than `limit`, there are more pages.
json::object usage_object(const UsageRequest& request, std::vector<store::UsageRow> rows);
// Makes the answer as CSV with a header line. Sets `next_page` if there are more pages.
std::string usage_csv(const UsageRequest& request, std::vector<store::UsageRow> rows, std::string& next_page);

}  // namespace kvasir::api

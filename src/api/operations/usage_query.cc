#include "api/operations/usage_query.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr int kMaxRows = 10'000;
constexpr int kDefaultRows = 1000;
constexpr std::int64_t kDefaultDays = 30;

struct Wanted {
  std::optional<std::int64_t> start;
  std::optional<std::int64_t> end;
  std::optional<std::string> tenant;
  UsageRequest request;
};

Result<std::int64_t> read_day(const json::value& value) {
  TRY(const std::string text, read_string(value));
  int parts[3] = {};
  const char* at = text.data();
  const char* const end = at + text.size();
  constexpr std::ptrdiff_t kDigits[3] = {4, 2, 2};
  bool ok = text.size() == 10 && text[4] == '-' && text[7] == '-';
  for (int i = 0; ok && i < 3; ++i) {
    const auto [stopped, problem] = std::from_chars(at, end, parts[i]);
    ok = problem == std::errc() && stopped - at == kDigits[i] && parts[i] >= 0;
    at = stopped + 1;
  }
  const std::chrono::year_month_day date(std::chrono::year(parts[0]),
                                         std::chrono::month(static_cast<unsigned>(parts[1])),
                                         std::chrono::day(static_cast<unsigned>(parts[2])));
  if (!ok || !date.ok()) return wrong_value(fmt::format("expected a date as 2026-11-30, got \"{}\"", text));
  return std::chrono::sys_days(date).time_since_epoch().count();
}

std::string day_text(std::int64_t day) {
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

Status read_groups(const json::value& value, Wanted& wanted) {
  TRY(const std::string text, read_string(value));
  store::UsageQuery& query = wanted.request.query;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string name = text.substr(at, comma - at);
    at = comma + 1;
    bool* const flag = name == "day"      ? &query.by_day
                       : name == "tenant" ? &query.by_tenant
                       : name == "key"    ? &query.by_key
                       : name == "model"  ? &query.by_model
                                          : nullptr;
    if (flag == nullptr)
      return wrong_value(fmt::format("expected day, key, model and tenant with commas, got \"{}\"", text));
    if (!std::exchange(*flag, true)) wanted.request.groups.push_back(name);
  }
  return base::ok();
}

constexpr Field<Wanted> kUsageFields[] = {
    {"start",
     [](const json::value& v, Wanted& w) -> Status {
       TRY(w.start, read_day(v));
       return base::ok();
     },
     R"({"type": "string", "format": "date", "description": "The first day, in UTC; 30 days before `end`."})"},
    {"end",
     [](const json::value& v, Wanted& w) -> Status {
       TRY(w.end, read_day(v));
       return base::ok();
     },
     R"({"type": "string", "format": "date", "description": "The day after the last one; tomorrow."})"},
    {"group_by", read_groups,
     R"({"type": "string", "description": "What is told apart: day, key, model and tenant, with commas."})"},
    {"format",
     [](const json::value& v, Wanted& w) -> Status {
       TRY(const std::string name, read_string(v));
       if (name != "json" && name != "csv")
         return wrong_value(fmt::format("expected json or csv, got \"{}\"", name));
       w.request.format = name == "csv" ? UsageFormat::csv : UsageFormat::json;
       return base::ok();
     },
     R"({"enum": ["json", "csv"]})"},
    {"tenant",
     [](const json::value& v, Wanted& w) -> Status {
       TRY(w.tenant, read_string(v));
       return base::ok();
     },
     R"({"type": "string", "description": "Whose usage: an administrator may name any tenant, others their own."})"},
    {"limit",
     [](const json::value& v, Wanted& w) -> Status {
       TRY(const std::int64_t number, read_integer(v, {1, kMaxRows}));
       w.request.query.limit = static_cast<int>(number);
       return base::ok();
     },
     R"({"type": "integer", "minimum": 1, "maximum": 10000, "default": 1000})"},
    {"page",
     [](const json::value& v, Wanted& w) -> Status {
       TRY(w.request.query.offset, read_integer(v, {0, std::int64_t{1} << 40}));
       return base::ok();
     },
     R"({"type": "integer", "minimum": 0, "description": "The `next_page` of the page before."})"},
};

// Returns the tenant whose totals are shown; absent: the totals of all tenants.
Result<std::optional<std::string>> tenant_to_show(const std::optional<std::string>& own,
                                                  const std::optional<std::string>& wanted) {
  if (!own) return wanted;
  if (!wanted || *wanted == *own) return own;
  return Error{ErrorCode::forbidden, "the API key shows the usage of its own tenant only", "tenant",
               "insufficient_scope"};
}

// Removes the extra row and returns the number of the next page, if there is one.
std::optional<std::int64_t> cut_page(const UsageRequest& request, std::vector<store::UsageRow>& rows) {
  const auto limit = static_cast<std::size_t>(request.query.limit);
  if (rows.size() <= limit) return std::nullopt;
  rows.resize(limit);
  return request.query.offset + request.query.limit;
}

std::string group_text(const store::UsageGroup& group, std::string_view name) {
  if (name == "day") return day_text(group.day);
  if (name == "tenant") return group.tenant;
  return name == "key" ? group.key : group.model;
}

// Writes all digits of an amount, without floating point.
std::string amount_text(std::int64_t nano) {
  constexpr std::int64_t kUnit = 1'000'000'000;
  return fmt::format("{}.{:09}", nano / kUnit, nano % kUnit);
}

std::string csv_text(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

Result<UsageRequest> read_usage_query(std::string_view query, const std::optional<std::string>& own_tenant,
                                      std::int64_t today) {
  Wanted wanted;
  wanted.request.query.limit = kDefaultRows;
  TRY_OK(read_query<Wanted>(query, kUsageFields, wanted));
  store::UsageQuery& read = wanted.request.query;
  TRY(read.tenant, tenant_to_show(own_tenant, wanted.tenant));
  read.end_day = wanted.end.value_or(today + 1);
  read.first_day = wanted.start.value_or(read.end_day - kDefaultDays);
  if (read.first_day >= read.end_day) return in_field("end", wrong_value("expected a day after `start`"));
  return std::move(wanted.request);
}

json::object usage_query_schema() {
  return ObjectSchema().add<Wanted>(kUsageFields).take();
}

json::object usage_object(const UsageRequest& request, std::vector<store::UsageRow> rows) {
  const std::optional<std::int64_t> next = cut_page(request, rows);
  json::array data;
  for (const auto& [group, totals] : rows) {
    json::object row;
    for (const std::string& name : request.groups) row[name] = group_text(group, name);
    row["requests"] = totals.num_requests;
    row["cancelled"] = totals.num_cancelled;
    row["failed"] = totals.num_failed;
    row["prompt_tokens"] = totals.prompt_tokens;
    row["cached_tokens"] = totals.cached_tokens;
    row["completion_tokens"] = totals.completion_tokens;
    const bool priced = !group.currency.empty();
    row["cost"] = priced ? json::value(static_cast<double>(totals.cost_nano) / 1e9) : json::value(nullptr);
    row["cost_nano"] = priced ? json::value(totals.cost_nano) : json::value(nullptr);
    row["currency"] = priced ? json::value(group.currency) : json::value(nullptr);
    data.push_back(std::move(row));
  }
  return {{"object", "usage"},
          {"start", day_text(request.query.first_day)},
          {"end", day_text(request.query.end_day)},
          {"data", std::move(data)},
          {"has_more", next.has_value()},
          {"next_page", next ? json::value(*next) : json::value(nullptr)}};
}

std::string usage_csv(const UsageRequest& request, std::vector<store::UsageRow> rows,
                      std::string& next_page) {
  if (const auto next = cut_page(request, rows)) next_page = fmt::format("{}", *next);
  std::string out;
  for (const std::string& name : request.groups) out += name + ",";
  out += "requests,cancelled,failed,prompt_tokens,cached_tokens,completion_tokens,cost,currency\r\n";
  for (const auto& [group, totals] : rows) {
    for (const std::string& name : request.groups) out += csv_text(group_text(group, name)) + ",";
    fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{}\r\n", totals.num_requests,
                   totals.num_cancelled, totals.num_failed, totals.prompt_tokens, totals.cached_tokens,
                   totals.completion_tokens, group.currency.empty() ? "" : amount_text(totals.cost_nano),
                   csv_text(group.currency));
  }
  return out;
}

}  // namespace kvasir::api

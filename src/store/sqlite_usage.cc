#include "store/sqlite_usage.h"

#include <utility>

namespace kvasir::store {

using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

Result<std::int64_t> position_of(Transaction& transaction, const std::string& log) {
  TRY(Statement statement, transaction.prepare("SELECT position FROM usage_logs WHERE log = ?1"));
  TRY(const bool there, statement.bind(log).step());
  return there ? statement.integer(0) : 0;
}

Status add_row(Transaction& transaction, const UsageRow& row) {
  TRY(Statement statement,
      transaction.prepare(
          "INSERT INTO usage_totals (tenant, day, key, model, currency, num_requests, num_cancelled, "
          "num_failed, prompt_tokens, cached_tokens, completion_tokens, cost_nano) "
          "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) "
          "ON CONFLICT (tenant, day, key, model, currency) DO UPDATE SET "
          "num_requests = num_requests + ?6, num_cancelled = num_cancelled + ?7, "
          "num_failed = num_failed + ?8, prompt_tokens = prompt_tokens + ?9, "
          "cached_tokens = cached_tokens + ?10, completion_tokens = completion_tokens + ?11, "
          "cost_nano = cost_nano + ?12"));
  const UsageGroup& group = row.group;
  const UsageTotals& totals = row.totals;
  statement.bind(group.tenant).bind(group.day).bind(group.key).bind(group.model).bind(group.currency);
  statement.bind(totals.num_requests).bind(totals.num_cancelled).bind(totals.num_failed);
  statement.bind(totals.prompt_tokens).bind(totals.cached_tokens).bind(totals.completion_tokens);
  return statement.bind(totals.cost_nano).run();
}

UsageRow read_row(const Statement& s) {
  UsageRow row;
  row.group = {s.text(1), s.integer(0), s.text(2), s.text(3), s.text(4)};
  row.totals.num_requests = s.integer(5);
  row.totals.num_cancelled = s.integer(6);
  row.totals.num_failed = s.integer(7);
  row.totals.prompt_tokens = s.integer(8);
  row.totals.cached_tokens = s.integer(9);
  row.totals.completion_tokens = s.integer(10);
  row.totals.cost_nano = s.integer(11);
  return row;
}

// ?1 to ?4 are the fields to group by, ?5 and ?6 the first and the end day, ?7 and ?8 the limit and the
// offset.
#define SELECT_TOTALS(where)                                                                         \
  "SELECT CASE WHEN ?1 THEN day ELSE 0 END AS d, CASE WHEN ?2 THEN tenant ELSE '' END AS t, "        \
  "CASE WHEN ?3 THEN key ELSE '' END AS k, CASE WHEN ?4 THEN model ELSE '' END AS m, currency, "     \
  "sum(num_requests), sum(num_cancelled), sum(num_failed), sum(prompt_tokens), sum(cached_tokens), " \
  "sum(completion_tokens), sum(cost_nano) FROM usage_totals WHERE day >= ?5 AND day < ?6" where      \
  " GROUP BY d, t, k, m, currency ORDER BY d, t, k, m, currency LIMIT ?7 OFFSET ?8"

}  // namespace

Status SqliteUsage::fold(const UsageFold& fold) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  TRY(const std::int64_t position, position_of(transaction, fold.log));
  if (position != fold.from)
    return base::error(ErrorCode::conflict, "the log is folded up to {}, not {}", position, fold.from);
  for (const UsageRow& row : fold.rows) TRY_OK(add_row(transaction, row));
  {
    TRY(Statement statement, transaction.prepare("INSERT INTO usage_logs (log, position) VALUES (?1, ?2) "
                                                 "ON CONFLICT (log) DO UPDATE SET position = ?2"));
    TRY_OK(statement.bind(fold.log).bind(fold.to).run());
  }
  return transaction.commit();
}

Result<std::int64_t> SqliteUsage::position(const std::string& log) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  return position_of(transaction, log);
}

Status SqliteUsage::forget(const std::string& log) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  {
    TRY(Statement statement, transaction.prepare("DELETE FROM usage_logs WHERE log = ?1"));
    TRY_OK(statement.bind(log).run());
  }
  return transaction.commit();
}

Result<std::vector<UsageRow>> SqliteUsage::totals(const UsageQuery& query) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  TRY(Statement statement,
      transaction.prepare(query.tenant ? SELECT_TOTALS(" AND tenant = ?9") : SELECT_TOTALS("")));
  statement.bind(std::int64_t{query.by_day}).bind(std::int64_t{query.by_tenant});
  statement.bind(std::int64_t{query.by_key}).bind(std::int64_t{query.by_model});
  statement.bind(query.first_day).bind(query.end_day);
  statement.bind(std::int64_t{query.limit}).bind(query.offset);
  if (query.tenant) statement.bind(*query.tenant);
  std::vector<UsageRow> rows;
  while (true) {
    TRY(const bool there, statement.step());
    if (!there) return rows;
    rows.push_back(read_row(statement));
  }
}

}  // namespace kvasir::store

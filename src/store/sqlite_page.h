#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "store/page.h"
#include "store/sqlite_database.h"

namespace kvasir::store {

// How to read a page from a table whose `seq` grows with each record: rows with low < seq < high.
struct Scan {
  std::int64_t low = 0;
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
  Order order = Order::ascending;
  bool turned = false;  // reads backwards: the page ends before a cursor
  int limit = 0;        // the query's limit and one more, to see whether there are more
};

// `seq_of` selects a record's seq by tenant and id.
inline base::Result<Scan> make_scan(Transaction& transaction, const char* seq_of, const std::string& tenant,
                                    const PageQuery& query) {
  Scan scan;
  const bool ascending = query.order == Order::ascending;
  const auto limit_to = [&](const std::string& cursor, const char* field,
                            std::int64_t& bound) -> base::Status {
    if (cursor.empty()) return base::ok();
    TRY(Statement statement, transaction.prepare(seq_of));
    TRY(const bool there, statement.bind(tenant).bind(cursor).step());
    if (!there)
      return base::Error{base::ErrorCode::invalid_argument,
                         fmt::format("there is no '{}' in this list", cursor), field, "invalid_value"};
    bound = statement.integer(0);
    return base::ok();
  };
  TRY_OK(limit_to(query.after, "after", ascending ? scan.low : scan.high));
  TRY_OK(limit_to(query.before, "before", ascending ? scan.high : scan.low));
  scan.turned = query.after.empty() && !query.before.empty();
  scan.order = ascending == scan.turned ? Order::descending : Order::ascending;
  scan.limit = query.limit + 1;
  return scan;
}

// Reads a page of records. `seqs` selects their seqs; its next parameters are low, high and limit. `row`
// selects a record by its seq.
template <class T, class Read>
base::Result<Page<T>> read_page(Transaction& transaction, Statement& seqs, const Scan& scan, const char* row,
                                Read read) {
  seqs.bind(scan.low).bind(scan.high).bind(std::int64_t{scan.limit});
  Page<T> page;
  std::size_t num_bytes = 0;
  while (true) {
    TRY(const bool there, seqs.step());
    if (!there) break;
    const bool full = static_cast<int>(page.items.size()) + 1 == scan.limit || num_bytes >= kMaxPageBytes;
    page.has_more = full;
    if (full) break;
    TRY(Statement statement, transaction.prepare(row));
    TRY_OK(statement.bind(seqs.integer(0)).step());
    num_bytes += statement.num_bytes();
    page.items.push_back(read(statement));
  }
  if (scan.turned) std::reverse(page.items.begin(), page.items.end());
  return page;
}

inline base::Error no_such(const char* what, const std::string& id) {
  return base::Error{
      base::ErrorCode::not_found, fmt::format("there is no {} '{}'", what, id), {}, "not_found"};
}

}  // namespace kvasir::store

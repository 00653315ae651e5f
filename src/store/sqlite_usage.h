#pragma once

#include <string>
#include <vector>

#include "store/sqlite_database.h"
#include "store/usage.h"

namespace kvasir::store {

class SqliteUsage final : public Usage {
 public:
  explicit SqliteUsage(SqliteDatabase& database) : database_(database) {}

  base::Status fold(const UsageFold& fold) override;
  base::Result<std::int64_t> position(const std::string& log) override;
  base::Status forget(const std::string& log) override;
  base::Result<std::vector<UsageRow>> totals(const UsageQuery& query) override;

 private:
  SqliteDatabase& database_;
};

}  // namespace kvasir::store

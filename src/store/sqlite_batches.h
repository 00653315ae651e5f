#pragma once

#include <string>
#include <vector>

#include "store/batches.h"
#include "store/sqlite_owner.h"

namespace kvasir::store {

// Both references outlive this object.
class SqliteBatches final : public Batches {
 public:
  SqliteBatches(SqliteDatabase& database, const SqliteOwner& owner) : database_(database), owner_(owner) {}

  base::Status add(const Batch& batch) override;
  base::Result<Batch> find(const Key& key) override;
  base::Result<Page<Batch>> list(const std::string& tenant, const PageQuery& query) override;
  base::Result<std::optional<Batch>> claim() override;
  base::Result<Batch> advance(const Key& key, const std::vector<BatchStatus>& from, BatchStatus to,
                              std::int64_t now_ms) override;
  base::Status fail(const Key& key, const std::string& errors, std::int64_t now_ms) override;
  base::Status begin(const Key& key, const std::vector<BatchLine>& lines, std::int64_t now_ms) override;
  base::Result<std::vector<BatchLine>> open_lines(const std::string& batch_id, std::int64_t after,
                                                  int limit) override;
  base::Status finish_line(const std::string& batch_id, const LineOutcome& outcome) override;
  base::Result<Batch> finish(const Key& key, const Ending& ending) override;

 private:
  SqliteDatabase& database_;
  const SqliteOwner& owner_;
};

}  // namespace kvasir::store

#pragma once

#include <string>
#include <vector>

#include "store/answers.h"
#include "store/sqlite_database.h"
#include "store/sqlite_owner.h"
#include "store/summaries.h"

namespace kvasir::store {

class SqliteAnswers final : public Answers {
 public:
  SqliteAnswers(SqliteDatabase& database, const SqliteOwner& owner) : database_(database), owner_(owner) {}

  base::Status put(const StoredAnswer& answer) override;
  base::Status save(const StoredAnswer& answer) override;
  base::Result<StoredAnswer> find(const Key& key, std::int64_t now_ms) override;
  base::Result<std::vector<StoredAnswer>> chain(const Key& key, std::int64_t now_ms, int max_length) override;
  base::Result<std::vector<std::string>> chain_ids(const Key& key, std::int64_t now_ms,
                                                   int max_length) override;
  base::Result<Page<StoredAnswer>> list(const std::string& tenant, const std::string& kind,
                                        const PageQuery& query) override;
  base::Status remove(const Key& key) override;
  base::Result<int> remove_expired(std::int64_t now_ms) override;

 private:
  std::int64_t owner_of(const StoredAnswer& answer) const;

  SqliteDatabase& database_;
  const SqliteOwner& owner_;
};

class SqliteSummaries final : public Summaries {
 public:
  explicit SqliteSummaries(SqliteDatabase& database) : database_(database) {}

  base::Result<std::optional<Summary>> find(const std::string& key) override;
  base::Status put(const Summary& summary) override;

 private:
  SqliteDatabase& database_;
};

}  // namespace kvasir::store

#pragma once

#include <string>

#include "store/files.h"
#include "store/sqlite_database.h"

namespace kvasir::store {

// Runs inside the caller's transaction.
base::Status insert_file(Transaction& transaction, const File& file, const std::string& contents);

class SqliteFiles final : public Files {
 public:
  explicit SqliteFiles(SqliteDatabase& database) : database_(database) {}

  base::Status add(const File& file, const std::string& contents) override;
  base::Result<File> find(const Key& key) override;
  base::Result<std::string> contents(const Key& key) override;
  base::Result<std::string> piece(const Key& key, std::int64_t number) override;
  base::Result<Page<File>> list(const std::string& tenant, const std::string& purpose,
                                const PageQuery& query) override;
  base::Status remove(const Key& key) override;

 private:
  SqliteDatabase& database_;
};

}  // namespace kvasir::store

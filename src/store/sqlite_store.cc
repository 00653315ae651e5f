#include "store/sqlite_store.h"

#include <system_error>
#include <utility>

namespace kvasir::store {

using base::Result;

SqliteStore::SqliteStore(std::unique_ptr<SqliteDatabase> database, std::unique_ptr<SqliteDatabase> watch,
                         SqliteOwner owner)
    : database_(std::move(database)),
      watch_(std::move(watch)),
      owner_(std::move(owner)),
      conversations_(*database_, owner_),
      answers_(*database_, owner_),
      summaries_(*database_),
      files_(*database_),
      batches_(*database_, owner_),
      accounts_(*database_, *watch_),
      usage_(*database_) {}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(const std::filesystem::path& path) {
  std::error_code failed;
  std::filesystem::create_directories(path.parent_path(), failed);
  if (failed)
    return base::error(base::ErrorCode::io, "{}: cannot be made: {}", path.parent_path().string(),
                       failed.message());
  TRY(std::unique_ptr<SqliteDatabase> database, SqliteDatabase::open(path));
  std::filesystem::path lock_path = path;
  lock_path += "-owners";
  TRY(SqliteOwner owner, SqliteOwner::join(*database, lock_path));
  TRY(std::unique_ptr<SqliteDatabase> watch, SqliteDatabase::open_again(path));
  return std::unique_ptr<SqliteStore>(
      new SqliteStore(std::move(database), std::move(watch), std::move(owner)));
}

}  // namespace kvasir::store

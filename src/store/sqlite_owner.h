#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

#include "store/owner_locks.h"
#include "store/sqlite_database.h"

namespace kvasir::store {

// This process's identity among the processes that share the database. Records that it works on have its
// number.
class SqliteOwner {
 public:
  static base::Result<SqliteOwner> join(SqliteDatabase& database, const std::filesystem::path& lock_path);

  std::int64_t number() const { return number_; }
  // Releases the records of dead processes: their messages end as incomplete, their answers as interrupted,
  // and their batches may be claimed again. Needs a write transaction.
  base::Status bury_dead(Transaction& transaction) const;

 private:
  SqliteOwner(OwnerLocks locks, std::int64_t number) : locks_(std::move(locks)), number_(number) {}

  OwnerLocks locks_;
  std::int64_t number_;
};

}  // namespace kvasir::store

#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

#include "store/owner_locks.h"
#include "store/sqlite_database.h"

namespace kvasir::store {

// This process among those that share the database: what it works on carries its number.
class SqliteOwner {
 public:
  static base::Result<SqliteOwner> join(SqliteDatabase& database, const std::filesystem::path& lock_path);

  std::int64_t number() const { return number_; }
  // Frees what processes that are gone were working on: their messages end as incomplete, their batches wait
  // for somebody else. In a transaction that writes.
  base::Status bury_dead(Transaction& transaction) const;

 private:
  SqliteOwner(OwnerLocks locks, std::int64_t number) : locks_(std::move(locks)), number_(number) {}

  OwnerLocks locks_;
  std::int64_t number_;
};

}  // namespace kvasir::store

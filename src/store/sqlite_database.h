#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace kvasir::store {

// A prepared statement with its values, from its transaction's database; at rest again once it dies. Text and
// blobs that are bound must live until then.
class Statement {
 public:
  Statement(sqlite3* database, sqlite3_stmt* statement) : database_(database), statement_(statement) {}
  ~Statement();
  Statement(Statement&& other) noexcept
      : database_(other.database_),
        statement_(std::exchange(other.statement_, nullptr)),
        num_bound_(other.num_bound_),
        bind_code_(other.bind_code_) {}
  Statement& operator=(Statement&&) = delete;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // The next parameter.
  Statement& bind(std::int64_t value);
  Statement& bind(const std::string& value);
  Statement& bind(const std::optional<double>& value);
  Statement& bind_blob(std::string_view bytes);

  // True: there is a row to read.
  base::Result<bool> step();
  // To the end, whatever rows there are.
  base::Status run();

  // Columns of the row, from 0.
  std::int64_t integer(int column) const;
  std::string text(int column) const;
  std::optional<double> number(int column) const;
  // Of its text and blobs.
  std::size_t num_bytes() const;

 private:
  sqlite3* database_;
  sqlite3_stmt* statement_;  // null once moved from
  int num_bound_ = 0;
  int bind_code_ = 0;  // the first that failed
};

// One connection and whoever holds it. SQLite's own locks keep processes apart, the mutex threads.
class SqliteDatabase {
 public:
  // Makes the file where there is none, and brings an older one up to date. corrupt: it is damaged or no
  // database; unsupported: it is another program's, or a newer version's.
  static base::Result<std::unique_ptr<SqliteDatabase>> open(const std::filesystem::path& path);
  // A further connection to a file that `open` has just opened.
  static base::Result<std::unique_ptr<SqliteDatabase>> open_again(const std::filesystem::path& path);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

 private:
  friend class Transaction;
  explicit SqliteDatabase(std::filesystem::path path) : path_(std::move(path)) {}

  base::Status connect();
  base::Status check_ours();
  base::Status check_sound();
  base::Status configure();
  base::Status migrate();
  base::Result<std::string> pragma(const std::string& sql);
  base::Result<Statement> prepare(const char* sql);
  base::Status execute(const char* sql);
  base::Error describe(base::Error error) const;

  const std::filesystem::path path_;
  std::mutex mutex_;
  // Both are touched by the mutex's holder only, and by `open`.
  sqlite3* database_ = nullptr;
  std::map<const char*, sqlite3_stmt*> prepared_;  // by the literal's address
};

enum class Access : std::uint8_t { read, write };

// Holds the database from the first statement to the last; what it wrote is undone unless it commits.
// Once `commit` has returned, all of it is on the disk.
class Transaction {
 public:
  static base::Result<Transaction> begin(SqliteDatabase& database, Access access);
  ~Transaction();
  Transaction(Transaction&& other) noexcept
      : database_(std::exchange(other.database_, nullptr)), lock_(std::move(other.lock_)) {}
  Transaction& operator=(Transaction&&) = delete;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // `sql` is a literal: it is kept prepared by its address.
  base::Result<Statement> prepare(const char* sql) { return database_->prepare(sql); }
  // Rows that the last statement changed.
  int num_changes() const;
  std::int64_t last_row_id() const;
  base::Status commit();

 private:
  Transaction(SqliteDatabase& database, std::unique_lock<std::mutex> lock)
      : database_(&database), lock_(std::move(lock)) {}

  SqliteDatabase* database_;  // null once over or moved from
  std::unique_lock<std::mutex> lock_;
};

}  // namespace kvasir::store

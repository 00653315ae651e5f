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

// A prepared statement with bound values. Belongs to its transaction's database and is reset when this object
// dies. Bound text and blobs must live until then.
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

  // Binds the next parameter.
  Statement& bind(std::int64_t value);
  Statement& bind(const std::string& value);
  Statement& bind(const std::optional<double>& value);
  Statement& bind_blob(std::string_view bytes);

  // True if there is a row to read.
  base::Result<bool> step();
  // Runs the statement to its end and ignores rows.
  base::Status run();

  // Columns of the current row, from 0.
  std::int64_t integer(int column) const;
  std::string text(int column) const;
  std::optional<double> number(int column) const;
  // The size of the row's text and blobs.
  std::size_t num_bytes() const;

 private:
  sqlite3* database_;
  sqlite3_stmt* statement_;  // null once moved from
  int num_bound_ = 0;
  int bind_code_ = 0;  // the first error
};

// One connection to a database. SQLite's locks separate processes, and the mutex separates threads.
class SqliteDatabase {
 public:
  // Creates the file if there is none, and migrates an older one. corrupt: it is damaged or not a database;
  // unsupported: it belongs to another program or a newer version.
  static base::Result<std::unique_ptr<SqliteDatabase>> open(const std::filesystem::path& path);
  // Opens another connection to a file that `open` has just opened.
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
  // Both are touched only by the mutex's holder and by `open`.
  sqlite3* database_ = nullptr;
  std::map<const char*, sqlite3_stmt*> prepared_;  // by the literal's address
};

enum class Access : std::uint8_t { read, write };

// Holds the database until this object dies. The changes are undone unless `commit` is called; once it has
// returned, they are on the disk.
class Transaction {
 public:
  static base::Result<Transaction> begin(SqliteDatabase& database, Access access);
  ~Transaction();
  Transaction(Transaction&& other) noexcept
      : database_(std::exchange(other.database_, nullptr)), lock_(std::move(other.lock_)) {}
  Transaction& operator=(Transaction&&) = delete;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // `sql` must be a literal: its address identifies the prepared statement.
  base::Result<Statement> prepare(const char* sql) { return database_->prepare(sql); }
  // The number of rows that the last statement changed.
  int num_changes() const;
  std::int64_t last_row_id() const;
  base::Status commit();

 private:
  Transaction(SqliteDatabase& database, std::unique_lock<std::mutex> lock)
      : database_(&database), lock_(std::move(lock)) {}

  SqliteDatabase* database_;  // null once it has ended or was moved from
  std::unique_lock<std::mutex> lock_;
};

}  // namespace kvasir::store

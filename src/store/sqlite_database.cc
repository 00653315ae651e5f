#include "store/sqlite_database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "store/sqlite_schema.h"

namespace kvasir::store {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

// "Kvas" marks Kvasir's files, so that a file of another program is not taken for one.
constexpr std::int64_t kApplicationId = 0x4B766173;
// How long a statement waits for another process's transaction.
constexpr int kBusyTimeout_ms = 10'000;
// Files up to this size are checked at the start. Checking every page of a larger one would take too long.
constexpr std::uintmax_t kMaxCheckedBytes = std::uintmax_t{256} << 20;

ErrorCode code_of(int sqlite_code) {
  switch (sqlite_code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::unavailable;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::corrupt;
    case SQLITE_TOOBIG:
      return ErrorCode::too_large;
    case SQLITE_CONSTRAINT:
      return ErrorCode::conflict;
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
    case SQLITE_ERROR:
      return ErrorCode::internal;
    default:
      return ErrorCode::io;
  }
}

Error sqlite_error(sqlite3* database, int code) {
  const char* words = database == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(database);
  Error error = base::error(code_of(code), "the store failed: {}", words);
  if (error.code == ErrorCode::unavailable) error.retry_after_s = 1;
  if (error.code == ErrorCode::unavailable) error.reason = "storage_busy";
  if ((code & 0xFF) == SQLITE_FULL) error.reason = "storage_full";
  return error;
}

}  // namespace

Statement::~Statement() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Statement& Statement::bind(std::int64_t value) {
  const int code = sqlite3_bind_int64(statement_, ++num_bound_, value);
  if (bind_code_ == SQLITE_OK) bind_code_ = code;
  return *this;
}

Statement& Statement::bind(const std::string& value) {
  const int code =
      sqlite3_bind_text64(statement_, ++num_bound_, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8);
  if (bind_code_ == SQLITE_OK) bind_code_ = code;
  return *this;
}

Statement& Statement::bind(const std::optional<double>& value) {
  const int code = value ? sqlite3_bind_double(statement_, ++num_bound_, *value)
                         : sqlite3_bind_null(statement_, ++num_bound_);
  if (bind_code_ == SQLITE_OK) bind_code_ = code;
  return *this;
}

Statement& Statement::bind_blob(std::string_view bytes) {
  const int code = sqlite3_bind_blob64(statement_, ++num_bound_, bytes.data(), bytes.size(), SQLITE_STATIC);
  if (bind_code_ == SQLITE_OK) bind_code_ = code;
  return *this;
}

Result<bool> Statement::step() {
  if (bind_code_ != SQLITE_OK) return sqlite_error(nullptr, bind_code_);
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return sqlite_error(database_, code);
}

Status Statement::run() {
  while (true) {
    TRY(const bool row, step());
    if (!row) return base::ok();
  }
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  if (bytes == nullptr || size <= 0) return {};
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

std::optional<double> Statement::number(int column) const {
  if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_double(statement_, column);
}

std::size_t Statement::num_bytes() const {
  std::size_t sum = 0;
  for (int column = 0; column < sqlite3_column_count(statement_); ++column) {
    const int type = sqlite3_column_type(statement_, column);
    if (type == SQLITE_TEXT || type == SQLITE_BLOB)
      sum += static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  }
  return sum;
}

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::open(const std::filesystem::path& path) {
  std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(path));
  const auto opened = [&]() -> Status {
    TRY_OK(database->connect());
    TRY_OK(database->check_ours());
    TRY_OK(database->configure());
    TRY_OK(database->check_sound());
    return database->migrate();
  }();
  if (!opened.ok()) return database->describe(opened.error());
  return database;
}

Result<std::unique_ptr<SqliteDatabase>> SqliteDatabase::open_again(const std::filesystem::path& path) {
  std::unique_ptr<SqliteDatabase> database(new SqliteDatabase(path));
  const auto opened = [&]() -> Status {
    TRY_OK(database->connect());
    return database->configure();
  }();
  if (!opened.ok()) return database->describe(opened.error());
  return database;
}

SqliteDatabase::~SqliteDatabase() {
  for (const auto& [sql, statement] : prepared_) sqlite3_finalize(statement);
  sqlite3_close_v2(database_);
}

// Adds the file's path, and what an operator can do about the error.
Error SqliteDatabase::describe(Error error) const {
  error.message = fmt::format("{}: {}", path_.string(), error.message);
  if (error.code == ErrorCode::corrupt)
    error.message += "; restore it from a backup, or move it away to begin with an empty one";
  if (error.code == ErrorCode::unavailable) error.message += "; another process holds it";
  return error;
}

Status SqliteDatabase::connect() {
  // The mode keeps conversations private, and SQLite gives its other files the same mode. An existing file
  // must not be opened here: closing it would drop the locks that other connections of this process hold on
  // it. Another process could then take itself for the last one and delete their log.
  const int file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0 && errno != EEXIST)
    return base::error(ErrorCode::io, "cannot be opened: {}", std::strerror(errno));
  if (file >= 0) ::close(file);
  const int code =
      sqlite3_open_v2(path_.c_str(), &database_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  if (code != SQLITE_OK) return sqlite_error(database_, code);
  sqlite3_busy_timeout(database_, kBusyTimeout_ms);
  return base::ok();
}

Result<std::string> SqliteDatabase::pragma(const std::string& sql) {
  sqlite3_stmt* raw = nullptr;
  if (const int code = sqlite3_prepare_v2(database_, sql.c_str(), -1, &raw, nullptr); code != SQLITE_OK)
    return sqlite_error(database_, code);
  Result<bool> row = false;
  std::string value;
  {
    Statement statement(database_, raw);
    row = statement.step();
    if (row.ok() && *row) value = statement.text(0);
  }
  sqlite3_finalize(raw);
  if (!row.ok()) return std::move(row).error();
  return value;
}

Status SqliteDatabase::check_ours() {
  TRY(const std::string id, pragma("PRAGMA application_id"));
  if (id == std::to_string(kApplicationId)) return base::ok();
  TRY(const std::string num_tables, pragma("SELECT count(*) FROM sqlite_schema"));
  if (id == "0" && num_tables == "0") return base::ok();
  return base::error(ErrorCode::unsupported, "it is a database of another program; name another folder");
}

Status SqliteDatabase::configure() {
  TRY(const std::string mode, pragma("PRAGMA journal_mode = WAL"));
  if (mode != "wal")
    return base::error(ErrorCode::unsupported, "its file system does not take a write-ahead log");
  // FULL syncs the log at each commit, so that acknowledged changes survive a power loss.
  TRY_OK(pragma("PRAGMA synchronous = FULL"));
  TRY_OK(pragma("PRAGMA foreign_keys = ON"));
  return base::ok();
}

Status SqliteDatabase::check_sound() {
  std::error_code ignored;
  if (std::filesystem::file_size(path_, ignored) > kMaxCheckedBytes) return base::ok();
  TRY(const std::string found, pragma("PRAGMA quick_check(1)"));
  if (found == "ok") return base::ok();
  return base::error(ErrorCode::corrupt, "it is damaged: {}", found);
}

Status SqliteDatabase::migrate() {
  TRY(Transaction transaction, Transaction::begin(*this, Access::write));
  TRY(const std::string text, pragma("PRAGMA user_version"));
  const auto version = static_cast<std::size_t>(std::stoul(text));
  const std::span<const char* const> steps = migrations();
  if (version > steps.size())
    return base::error(ErrorCode::unsupported,
                       "its schema has version {}, made by a newer Kvasir; this one knows up to {}", version,
                       steps.size());
  if (version == steps.size()) return base::ok();
  for (std::size_t i = version; i < steps.size(); ++i) TRY_OK(execute(steps[i]));
  TRY_OK(pragma(fmt::format("PRAGMA user_version = {}", steps.size())));
  TRY_OK(pragma(fmt::format("PRAGMA application_id = {}", kApplicationId)));
  return transaction.commit();
}

Status SqliteDatabase::execute(const char* sql) {
  const int code = sqlite3_exec(database_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return sqlite_error(database_, code);
  return base::ok();
}

Result<Statement> SqliteDatabase::prepare(const char* sql) {
  sqlite3_stmt*& statement = prepared_[sql];
  if (statement == nullptr) {
    const int code = sqlite3_prepare_v3(database_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) return sqlite_error(database_, code);
  }
  return Statement(database_, statement);
}

Result<Transaction> Transaction::begin(SqliteDatabase& database, Access access) {
  std::unique_lock lock(database.mutex_);
  TRY_OK(database.execute(access == Access::write ? "BEGIN IMMEDIATE" : "BEGIN"));
  return Transaction(database, std::move(lock));
}

Transaction::~Transaction() {
  // If the transaction is already over (a full disk ends it), there is nothing to roll back.
  if (database_ != nullptr && sqlite3_get_autocommit(database_->database_) == 0)
    (void)database_->execute("ROLLBACK");
}

int Transaction::num_changes() const {
  return sqlite3_changes(database_->database_);
}

std::int64_t Transaction::last_row_id() const {
  return sqlite3_last_insert_rowid(database_->database_);
}

Status Transaction::commit() {
  TRY_OK(database_->execute("COMMIT"));
  database_ = nullptr;
  lock_.unlock();
  return base::ok();
}

}  // namespace kvasir::store

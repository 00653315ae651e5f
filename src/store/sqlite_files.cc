#include "store/sqlite_files.h"

#include <utility>

#include "store/sqlite_page.h"

namespace kvasir::store {

using base::Result;
using base::Status;

namespace {

#define FILE_COLUMNS "id, tenant, name, purpose, created_ms, expires_ms, num_bytes"

File read_file(const Statement& s) {
  File file;
  file.id = s.text(0);
  file.tenant = s.text(1);
  file.name = s.text(2);
  file.purpose = s.text(3);
  file.created_ms = s.integer(4);
  file.expires_ms = s.integer(5);
  file.num_bytes = s.integer(6);
  return file;
}

}  // namespace

Status insert_file(Transaction& transaction, const File& file, const std::string& contents) {
  {
    TRY(Statement statement,
        transaction.prepare("INSERT INTO files (" FILE_COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"));
    TRY_OK(statement.bind(file.id)
               .bind(file.tenant)
               .bind(file.name)
               .bind(file.purpose)
               .bind(file.created_ms)
               .bind(file.expires_ms)
               .bind(static_cast<std::int64_t>(contents.size()))
               .run());
  }
  const std::int64_t seq = transaction.last_row_id();
  TRY(Statement statement, transaction.prepare("INSERT INTO file_contents (file, bytes) VALUES (?1, ?2)"));
  return statement.bind(seq).bind_blob(contents).run();
}

Status SqliteFiles::add(const File& file, const std::string& contents) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  TRY_OK(insert_file(transaction, file, contents));
  return transaction.commit();
}

Result<File> SqliteFiles::find(const Key& key) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  TRY(Statement statement,
      transaction.prepare("SELECT " FILE_COLUMNS " FROM files WHERE tenant = ?1 AND id = ?2"));
  TRY(const bool there, statement.bind(key.tenant).bind(key.id).step());
  if (!there) return no_such("file", key.id);
  return read_file(statement);
}

Result<std::string> SqliteFiles::contents(const Key& key) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  TRY(Statement statement,
      transaction.prepare(
          "SELECT bytes FROM files JOIN file_contents ON file = seq WHERE tenant = ?1 AND id = ?2"));
  TRY(const bool there, statement.bind(key.tenant).bind(key.id).step());
  if (!there) return no_such("file", key.id);
  return statement.text(0);
}

Result<Page<File>> SqliteFiles::list(const std::string& tenant, const std::string& purpose,
                                     const PageQuery& query) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  TRY(const Scan scan,
      make_scan(transaction, "SELECT seq FROM files WHERE tenant = ?1 AND id = ?2", tenant, query));
  TRY(Statement statement,
      transaction.prepare(
          scan.order == Order::ascending
              ? "SELECT " FILE_COLUMNS " FROM files WHERE tenant = ?1 AND (?2 = '' OR purpose = "
                "?2) AND seq > ?3 AND seq < ?4 ORDER BY seq LIMIT ?5"
              : "SELECT " FILE_COLUMNS " FROM files WHERE tenant = ?1 AND (?2 = '' OR purpose = "
                "?2) AND seq > ?3 AND seq < ?4 ORDER BY seq DESC LIMIT ?5"));
  statement.bind(tenant).bind(purpose);
  return read_page<File>(statement, scan, read_file);
}

Status SqliteFiles::remove(const Key& key) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  {
    TRY(Statement statement, transaction.prepare("DELETE FROM files WHERE tenant = ?1 AND id = ?2"));
    TRY_OK(statement.bind(key.tenant).bind(key.id).run());
  }
  if (transaction.num_changes() == 0) return no_such("file", key.id);
  return transaction.commit();
}

}  // namespace kvasir::store

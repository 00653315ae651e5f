#include "store/sqlite_files.h"

#include <string_view>
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

struct Found {
  File file;
  std::int64_t seq = 0;
};

Result<Found> find_file(Transaction& transaction, const Key& key) {
  TRY(Statement statement,
      transaction.prepare("SELECT " FILE_COLUMNS ", seq FROM files WHERE tenant = ?1 AND id = ?2"));
  TRY(const bool there, statement.bind(key.tenant).bind(key.id).step());
  if (!there) return no_such("file", key.id);
  return Found{read_file(statement), statement.integer(7)};
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
  std::string_view left = contents;
  for (std::int64_t number = 0; !left.empty(); ++number) {
    const std::string_view piece = left.substr(0, kMaxPieceBytes);
    left.remove_prefix(piece.size());
    TRY(Statement statement,
        transaction.prepare("INSERT INTO file_pieces (file, number, bytes) VALUES (?1, ?2, ?3)"));
    TRY_OK(statement.bind(seq).bind(number).bind_blob(piece).run());
  }
  return base::ok();
}

Status SqliteFiles::add(const File& file, const std::string& contents) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  TRY_OK(insert_file(transaction, file, contents));
  return transaction.commit();
}

Result<File> SqliteFiles::find(const Key& key) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  TRY(Found found, find_file(transaction, key));
  return std::move(found.file);
}

Result<std::string> SqliteFiles::contents(const Key& key) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  TRY(const Found found, find_file(transaction, key));
  TRY(Statement statement,
      transaction.prepare("SELECT bytes FROM file_pieces WHERE file = ?1 ORDER BY number"));
  statement.bind(found.seq);
  std::string contents;
  contents.reserve(static_cast<std::size_t>(found.file.num_bytes));
  while (true) {
    TRY(const bool there, statement.step());
    if (!there) return contents;
    contents += statement.text(0);
  }
}

Result<std::string> SqliteFiles::piece(const Key& key, std::int64_t number) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  TRY(const Found found, find_file(transaction, key));
  TRY(Statement statement,
      transaction.prepare("SELECT bytes FROM file_pieces WHERE file = ?1 AND number = ?2"));
  TRY(const bool there, statement.bind(found.seq).bind(number).step());
  return there ? statement.text(0) : std::string();
}

Result<Page<File>> SqliteFiles::list(const std::string& tenant, const std::string& purpose,
                                     const PageQuery& query) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  TRY(const Scan scan,
      make_scan(transaction, "SELECT seq FROM files WHERE tenant = ?1 AND id = ?2", tenant, query));
  TRY(Statement statement,
      transaction.prepare(
          scan.order == Order::ascending
              ? "SELECT seq FROM files WHERE tenant = ?1 AND (?2 = '' OR purpose = ?2) AND seq > ?3 AND seq "
                "< ?4 ORDER BY seq LIMIT ?5"
              : "SELECT seq FROM files WHERE tenant = ?1 AND (?2 = '' OR purpose = ?2) AND seq > ?3 AND seq "
                "< ?4 ORDER BY seq DESC LIMIT ?5"));
  statement.bind(tenant).bind(purpose);
  return read_page<File>(transaction, statement, scan, "SELECT " FILE_COLUMNS " FROM files WHERE seq = ?1",
                         read_file);
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

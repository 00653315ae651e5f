#include "store/sqlite_store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <string_view>

#include "store/sqlite_schema.h"
#include "store/temp_folder.h"

namespace kvasir::store {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;

class SqliteStoreTest : public testing::Test {
 protected:
  fs::path file() const { return folder_.path() / "kvasir.db"; }
  void run_sql(const char* sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file().c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
  }
  base::Error refusal() const {
    auto opened = SqliteStore::open(file());
    return opened.ok() ? base::Error{.message = "it was opened"} : opened.error();
  }

  TempFolder folder_;
};

TEST_F(SqliteStoreTest, AFileThatIsNoDatabaseIsNamed) {
  std::ofstream(file()) << std::string(8192, 'x');
  const base::Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::corrupt);
  EXPECT_NE(error.message.find("kvasir.db"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("not a database"), std::string::npos) << error.message;
}

TEST_F(SqliteStoreTest, AnotherProgramsDatabaseIsLeftAlone) {
  run_sql("CREATE TABLE theirs (a)");
  const base::Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_NE(error.message.find("another program"), std::string::npos) << error.message;
}

TEST_F(SqliteStoreTest, ANewerSchemaIsRefused) {
  ASSERT_TRUE(SqliteStore::open(file()).ok());
  run_sql("PRAGMA user_version = 1000");
  EXPECT_NE(refusal().message.find("newer"), std::string::npos) << refusal().message;
}

// The first schema stored a file's contents in one row instead of pieces.
TEST_F(SqliteStoreTest, FilesOfTheFirstSchemaAreThere) {
  run_sql(migrations().front());
  run_sql("PRAGMA application_id = 0x4B766173; PRAGMA user_version = 1;");
  run_sql(
      "INSERT INTO files VALUES (7, 'large', 't', 'n', 'p', 1, 0, 300000), (8, 'empty', 't', 'n', 'p', 1, 0, "
      "0);"
      "INSERT INTO file_contents VALUES (7, randomblob(300000)), (8, x'');"
      "CREATE TABLE kept AS SELECT bytes FROM file_contents WHERE file = 7;");
  std::string contents;
  {
    auto store = SqliteStore::open(file()).value();
    contents = store->files().contents({"t", "large"}).value();
    EXPECT_EQ(store->files().piece({"t", "large"}, 2)->size(), 300'000 - 2 * kMaxPieceBytes);
    EXPECT_EQ(store->files().contents({"t", "empty"}).value(), "");
  }
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file().c_str(), &database), SQLITE_OK);
  sqlite3_stmt* kept = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(database, "SELECT bytes FROM kept", -1, &kept, nullptr), SQLITE_OK);
  ASSERT_EQ(sqlite3_step(kept), SQLITE_ROW);
  EXPECT_EQ(contents, std::string_view(static_cast<const char*>(sqlite3_column_blob(kept, 0)), 300'000));
  sqlite3_finalize(kept);
  sqlite3_close(database);
}

TEST_F(SqliteStoreTest, ADamagedFileIsRefused) {
  {
    auto store = SqliteStore::open(file()).value();
    for (int i = 0; i < 200; ++i)
      ASSERT_TRUE(
          store->conversations().add({.id = "c" + std::to_string(i), .title = std::string(500, 'x')}).ok());
  }
  {
    std::fstream raw(file(), std::ios::in | std::ios::out | std::ios::binary);
    const std::string garbage(4096 * 8, '\x5a');
    raw.seekp(4096 * 12);
    raw.write(garbage.data(), static_cast<std::streamsize>(garbage.size()));
  }
  EXPECT_EQ(refusal().code, ErrorCode::corrupt) << refusal().message;
}

TEST_F(SqliteStoreTest, AFolderThatCannotBeMadeIsNamed) {
  std::ofstream(folder_.path() / "plain") << "x";
  auto opened = SqliteStore::open(folder_.path() / "plain" / "kvasir.db");
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("plain"), std::string::npos);
}

TEST_F(SqliteStoreTest, NobodyElseMayReadIt) {
  ASSERT_TRUE(SqliteStore::open(file()).ok());
  EXPECT_EQ(fs::status(file()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

// A process is killed in the middle of its writes. Everything that it had reported as written must be there.
TEST_F(SqliteStoreTest, WhatWasAcknowledgedOutlivesAKill) {
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    auto store = SqliteStore::open(file()).value();
    (void)store->conversations().add({.id = "conv_1"});
    std::string parent;
    for (unsigned char i = 0;; ++i) {
      Message message;
      message.id = parent + "x";
      message.parent_id = parent;
      if (!store->conversations().append({"", "conv_1"}, {.messages = {message}}).ok()) ::_exit(1);
      parent = message.id;
      if (::write(pipe_ends[1], &i, 1) != 1) ::_exit(1);
    }
  }
  for (int i = 0; i < 40; ++i) {
    unsigned char acknowledged = 0;
    ASSERT_EQ(::read(pipe_ends[0], &acknowledged, 1), 1);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
  auto store = SqliteStore::open(file()).value();
  const auto tree = store->conversations().tree({"", "conv_1"}).value();
  EXPECT_GE(tree.size(), 40u);
  EXPECT_EQ(store->conversations().find({"", "conv_1"})->active_leaf, tree.back().id);
}

}  // namespace
}  // namespace kvasir::store

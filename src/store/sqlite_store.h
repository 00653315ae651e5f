#pragma once

#include <filesystem>
#include <memory>

#include "store/sqlite_accounts.h"
#include "store/sqlite_answers.h"
#include "store/sqlite_batches.h"
#include "store/sqlite_conversations.h"
#include "store/sqlite_files.h"
#include "store/sqlite_owner.h"
#include "store/sqlite_usage.h"
#include "store/store.h"

namespace kvasir::store {

// A store in one file, with its write-ahead log and a lock file beside it. Several processes of one machine
// may share the file. It must not be on a network file system.
class SqliteStore final : public Store {
 public:
  // Creates the folder and the file if necessary. Releases the records of dead processes.
  static base::Result<std::unique_ptr<SqliteStore>> open(const std::filesystem::path& path);

  Conversations& conversations() override { return conversations_; }
  Answers& answers() override { return answers_; }
  Summaries& summaries() override { return summaries_; }
  Files& files() override { return files_; }
  Batches& batches() override { return batches_; }
  Accounts& accounts() override { return accounts_; }
  Usage& usage() override { return usage_; }

 private:
  SqliteStore(std::unique_ptr<SqliteDatabase> database, std::unique_ptr<SqliteDatabase> watch,
              SqliteOwner owner);

  std::unique_ptr<SqliteDatabase> database_;
  std::unique_ptr<SqliteDatabase> watch_;  // looks for changes of accounts
  SqliteOwner owner_;
  SqliteConversations conversations_;
  SqliteAnswers answers_;
  SqliteSummaries summaries_;
  SqliteFiles files_;
  SqliteBatches batches_;
  SqliteAccounts accounts_;
  SqliteUsage usage_;
};

}  // namespace kvasir::store

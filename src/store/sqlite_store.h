#pragma once

#include <filesystem>
#include <memory>

#include "store/sqlite_accounts.h"
#include "store/sqlite_answers.h"
#include "store/sqlite_batches.h"
#include "store/sqlite_conversations.h"
#include "store/sqlite_files.h"
#include "store/sqlite_owner.h"
#include "store/store.h"

namespace kvasir::store {

// Everything in one file, with its write-ahead log and the lock file beside it. Several processes of one
// machine may share the file; it may not lie on a network's file system.
class SqliteStore final : public Store {
 public:
  // Makes the folder and the file where there are none. Frees what processes that are gone were working on.
  static base::Result<std::unique_ptr<SqliteStore>> open(const std::filesystem::path& path);

  Conversations& conversations() override { return conversations_; }
  Answers& answers() override { return answers_; }
  Summaries& summaries() override { return summaries_; }
  Files& files() override { return files_; }
  Batches& batches() override { return batches_; }
  Accounts& accounts() override { return accounts_; }

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
};

}  // namespace kvasir::store

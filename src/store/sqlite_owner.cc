#include "store/sqlite_owner.h"

#include <vector>

#include "store/answers.h"
#include "store/conversations.h"

namespace kvasir::store {

using base::Result;
using base::Status;

namespace {

Status bury(Transaction& transaction, std::int64_t number) {
  TRY(Statement messages, transaction.prepare("UPDATE messages SET owner = 0, status = ?1, finish_reason = "
                                              "'interrupted' WHERE owner = ?2"));
  TRY_OK(messages.bind(static_cast<std::int64_t>(MessageStatus::incomplete)).bind(number).run());
  TRY(Statement answers, transaction.prepare("UPDATE answers SET owner = 0, state = ?1 WHERE owner = ?2"));
  TRY_OK(answers.bind(static_cast<std::int64_t>(AnswerState::interrupted)).bind(number).run());
  TRY(Statement batches, transaction.prepare("UPDATE batches SET owner = 0 WHERE owner = ?1"));
  TRY_OK(batches.bind(number).run());
  TRY(Statement owners, transaction.prepare("DELETE FROM owners WHERE number = ?1"));
  return owners.bind(number).run();
}

}  // namespace

Result<SqliteOwner> SqliteOwner::join(SqliteDatabase& database, const std::filesystem::path& lock_path) {
  TRY(OwnerLocks locks, OwnerLocks::open(lock_path));
  // The number is drawn, locked and written in one transaction, so that this process is never taken for dead.
  TRY(Transaction transaction, Transaction::begin(database, Access::write));
  {
    TRY(Statement statement, transaction.prepare("INSERT INTO owners DEFAULT VALUES"));
    TRY_OK(statement.run());
  }
  SqliteOwner owner(std::move(locks), transaction.last_row_id());
  TRY_OK(owner.locks_.hold(owner.number_));
  TRY_OK(owner.bury_dead(transaction));
  TRY_OK(transaction.commit());
  return owner;
}

Status SqliteOwner::bury_dead(Transaction& transaction) const {
  std::vector<std::int64_t> others;
  {
    TRY(Statement statement, transaction.prepare("SELECT number FROM owners WHERE number <> ?1"));
    statement.bind(number_);
    while (true) {
      TRY(const bool row, statement.step());
      if (!row) break;
      others.push_back(statement.integer(0));
    }
  }
  for (const std::int64_t other : others) {
    TRY(const bool lives, locks_.held(other));
    if (!lives) TRY_OK(bury(transaction, other));
  }
  return base::ok();
}

}  // namespace kvasir::store

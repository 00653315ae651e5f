#include "store/sqlite_answers.h"

#include <algorithm>
#include <utility>

#include "store/sqlite_page.h"

namespace kvasir::store {

using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

#define ANSWER_COLUMNS "id, tenant, kind, previous_id, created_ms, expires_ms, input, body, state"

StoredAnswer read_answer(const Statement& s) {
  StoredAnswer answer;
  answer.id = s.text(0);
  answer.tenant = s.text(1);
  answer.kind = s.text(2);
  answer.previous_id = s.text(3);
  answer.created_ms = s.integer(4);
  answer.expires_ms = s.integer(5);
  answer.input = s.text(6);
  answer.body = s.text(7);
  answer.state = static_cast<AnswerState>(s.integer(8));
  return answer;
}

Result<StoredAnswer> find_answer(Transaction& transaction, const Key& key, std::int64_t now_ms) {
  TRY(Statement statement,
      transaction.prepare("SELECT " ANSWER_COLUMNS " FROM answers WHERE tenant = ?1 AND id = ?2 AND "
                          "(expires_ms = 0 OR expires_ms > ?3)"));
  TRY(const bool there, statement.bind(key.tenant).bind(key.id).bind(now_ms).step());
  if (!there) return no_such("stored answer", key.id);
  return read_answer(statement);
}

base::Error too_long(const std::string& id, int max_length) {
  return base::error(ErrorCode::too_large, "'{}' goes on from more than {} answers", id, max_length);
}

}  // namespace

Status SqliteAnswers::put(const StoredAnswer& answer) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  {
    TRY(Statement statement,
        transaction.prepare("INSERT INTO answers (" ANSWER_COLUMNS
                            ", owner) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) "
                            "ON CONFLICT (id) DO UPDATE SET kind = ?3, previous_id = ?4, created_ms = ?5, "
                            "expires_ms = ?6, input = ?7, body = ?8, state = ?9, owner = ?10 "
                            "WHERE tenant = ?2"));
    TRY_OK(statement.bind(answer.id)
               .bind(answer.tenant)
               .bind(answer.kind)
               .bind(answer.previous_id)
               .bind(answer.created_ms)
               .bind(answer.expires_ms)
               .bind(answer.input)
               .bind(answer.body)
               .bind(static_cast<std::int64_t>(answer.state))
               .bind(owner_of(answer))
               .run());
  }
  if (transaction.num_changes() == 0)
    return base::error(ErrorCode::conflict, "there is an answer '{}' already", answer.id);
  return transaction.commit();
}

std::int64_t SqliteAnswers::owner_of(const StoredAnswer& answer) const {
  return answer.state == AnswerState::in_progress ? owner_.number() : 0;
}

Status SqliteAnswers::save(const StoredAnswer& answer) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  {
    TRY(Statement statement, transaction.prepare("UPDATE answers SET body = ?1, state = ?2, owner = ?3 "
                                                 "WHERE tenant = ?4 AND id = ?5 AND owner = ?6"));
    TRY_OK(statement.bind(answer.body)
               .bind(static_cast<std::int64_t>(answer.state))
               .bind(owner_of(answer))
               .bind(answer.tenant)
               .bind(answer.id)
               .bind(owner_.number())
               .run());
  }
  if (transaction.num_changes() == 0) return no_such("answer in progress", answer.id);
  return transaction.commit();
}

Result<StoredAnswer> SqliteAnswers::find(const Key& key, std::int64_t now_ms) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  return find_answer(transaction, key, now_ms);
}

Result<std::vector<StoredAnswer>> SqliteAnswers::chain(const Key& key, std::int64_t now_ms, int max_length) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  std::vector<StoredAnswer> chain;
  std::size_t num_bytes = 0;
  for (Key next = key; !next.id.empty(); next.id = chain.back().previous_id) {
    if (static_cast<int>(chain.size()) == max_length) return too_long(key.id, max_length);
    TRY(StoredAnswer answer, find_answer(transaction, next, now_ms));
    num_bytes += answer.input.size() + answer.body.size();
    if (num_bytes > kMaxChainBytes)
      return base::error(ErrorCode::too_large, "'{}' goes on from more than {} bytes", key.id,
                         kMaxChainBytes);
    chain.push_back(std::move(answer));
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

Result<std::vector<std::string>> SqliteAnswers::chain_ids(const Key& key, std::int64_t now_ms,
                                                          int max_length) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  std::vector<std::string> ids;
  for (std::string next = key.id; !next.empty();) {
    if (static_cast<int>(ids.size()) == max_length) return too_long(key.id, max_length);
    TRY(Statement statement,
        transaction.prepare("SELECT previous_id FROM answers WHERE tenant = ?1 AND id = ?2 AND "
                            "(expires_ms = 0 OR expires_ms > ?3)"));
    TRY(const bool there, statement.bind(key.tenant).bind(next).bind(now_ms).step());
    if (!there) return no_such("stored answer", next);
    ids.push_back(std::exchange(next, statement.text(0)));
  }
  std::reverse(ids.begin(), ids.end());
  return ids;
}

Result<Page<StoredAnswer>> SqliteAnswers::list(const std::string& tenant, const std::string& kind,
                                               const PageQuery& query) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  TRY(const Scan scan,
      make_scan(transaction, "SELECT seq FROM answers WHERE tenant = ?1 AND id = ?2", tenant, query));
  TRY(Statement statement,
      transaction.prepare(scan.order == Order::ascending
                              ? "SELECT seq FROM answers WHERE tenant = ?1 AND kind = ?2 AND seq > ?3 AND "
                                "seq < ?4 ORDER BY seq LIMIT ?5"
                              : "SELECT seq FROM answers WHERE tenant = ?1 AND kind = ?2 AND seq > ?3 AND "
                                "seq < ?4 ORDER BY seq DESC LIMIT ?5"));
  statement.bind(tenant).bind(kind);
  return read_page<StoredAnswer>(transaction, statement, scan,
                                 "SELECT " ANSWER_COLUMNS " FROM answers WHERE seq = ?1", read_answer);
}

Status SqliteAnswers::remove(const Key& key) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  {
    TRY(Statement statement, transaction.prepare("DELETE FROM answers WHERE tenant = ?1 AND id = ?2"));
    TRY_OK(statement.bind(key.tenant).bind(key.id).run());
  }
  if (transaction.num_changes() == 0) return no_such("stored answer", key.id);
  return transaction.commit();
}

Result<int> SqliteAnswers::remove_expired(std::int64_t now_ms) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  {
    TRY(Statement statement,
        transaction.prepare("DELETE FROM answers WHERE expires_ms <> 0 AND expires_ms <= ?1"));
    TRY_OK(statement.bind(now_ms).run());
  }
  const int num_removed = transaction.num_changes();
  TRY_OK(transaction.commit());
  return num_removed;
}

Result<std::optional<Summary>> SqliteSummaries::find(const std::string& key) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  TRY(Statement statement, transaction.prepare("SELECT text, created_ms FROM summaries WHERE key = ?1"));
  TRY(const bool there, statement.bind(key).step());
  if (!there) return std::optional<Summary>();
  return std::optional<Summary>({.key = key, .text = statement.text(0), .created_ms = statement.integer(1)});
}

Status SqliteSummaries::put(const Summary& summary) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  {
    TRY(Statement statement,
        transaction.prepare("INSERT INTO summaries (key, text, created_ms) VALUES (?1, ?2, ?3) "
                            "ON CONFLICT (key) DO NOTHING"));
    TRY_OK(statement.bind(summary.key).bind(summary.text).bind(summary.created_ms).run());
  }
  {
    TRY(Statement statement, transaction.prepare("DELETE FROM summaries WHERE seq <= (SELECT max(seq) FROM "
                                                 "summaries) - ?1"));
    TRY_OK(statement.bind(std::int64_t{kMaxSummaries}).run());
  }
  return transaction.commit();
}

}  // namespace kvasir::store

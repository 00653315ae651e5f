#include "store/sqlite_batches.h"

#include <algorithm>
#include <utility>

#include "store/sqlite_files.h"
#include "store/sqlite_page.h"

namespace kvasir::store {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

#define BATCH_COLUMNS                                                                                    \
  "id, tenant, input_file_id, endpoint, completion_window, metadata, errors, status, created_ms, "       \
  "validating_ms, in_progress_ms, finalizing_ms, completed_ms, failed_ms, cancelling_ms, cancelled_ms, " \
  "output_file_id, error_file_id, num_lines, num_completed, num_failed"
constexpr int kFirstEntered = 9;  // column of validating_ms
constexpr int kNumEntered = static_cast<int>(kBatchStatuses.size());

enum class LineState : std::uint8_t { open, completed, failed };

Batch read_batch(const Statement& s) {
  Batch batch;
  batch.id = s.text(0);
  batch.tenant = s.text(1);
  batch.input_file_id = s.text(2);
  batch.endpoint = s.text(3);
  batch.completion_window = s.text(4);
  batch.metadata = s.text(5);
  batch.errors = s.text(6);
  batch.status = static_cast<BatchStatus>(s.integer(7));
  batch.created_ms = s.integer(8);
  for (int i = 0; i < kNumEntered; ++i)
    batch.entered_ms[static_cast<std::size_t>(i)] = s.integer(kFirstEntered + i);
  batch.output_file_id = s.text(kFirstEntered + kNumEntered);
  batch.error_file_id = s.text(kFirstEntered + kNumEntered + 1);
  batch.num_lines = s.integer(kFirstEntered + kNumEntered + 2);
  batch.num_completed = s.integer(kFirstEntered + kNumEntered + 3);
  batch.num_failed = s.integer(kFirstEntered + kNumEntered + 4);
  return batch;
}

Result<Batch> find_batch(Transaction& transaction, const Key& key) {
  TRY(Statement statement,
      transaction.prepare("SELECT " BATCH_COLUMNS " FROM batches WHERE tenant = ?1 AND id = ?2"));
  TRY(const bool there, statement.bind(key.tenant).bind(key.id).step());
  if (!there) return no_such("batch", key.id);
  return read_batch(statement);
}

// Updates all fields of a batch that can change.
Status update_batch(Transaction& transaction, const Batch& batch) {
  TRY(Statement statement,
      transaction.prepare(
          "UPDATE batches SET errors = ?1, status = ?2, validating_ms = ?3, in_progress_ms = ?4, "
          "finalizing_ms = ?5, completed_ms = ?6, failed_ms = ?7, cancelling_ms = ?8, "
          "cancelled_ms = ?9, output_file_id = ?10, error_file_id = ?11, num_lines = ?12 "
          "WHERE id = ?13"));
  statement.bind(batch.errors).bind(static_cast<std::int64_t>(batch.status));
  for (const std::int64_t entered : batch.entered_ms) statement.bind(entered);
  return statement.bind(batch.output_file_id)
      .bind(batch.error_file_id)
      .bind(batch.num_lines)
      .bind(batch.id)
      .run();
}

void enter(Batch& batch, BatchStatus status, std::int64_t now_ms) {
  batch.status = status;
  batch.entered_ms[static_cast<std::size_t>(status)] = now_ms;
}

Result<std::int64_t> batch_seq(Transaction& transaction, const std::string& id) {
  TRY(Statement statement, transaction.prepare("SELECT seq FROM batches WHERE id = ?1"));
  TRY(const bool there, statement.bind(id).step());
  if (!there) return no_such("batch", id);
  return statement.integer(0);
}

Status drop_lines(Transaction& transaction, const std::string& id) {
  TRY(const std::int64_t seq, batch_seq(transaction, id));
  TRY(Statement statement, transaction.prepare("DELETE FROM batch_lines WHERE batch = ?1"));
  return statement.bind(seq).run();
}

// Writes the outcomes of one kind to a file, in the order of the lines. Returns the file's id, or "" if there
// are none.
Result<std::string> make_file(Transaction& transaction, const Batch& batch, LineState state, File file) {
  TRY(const std::int64_t seq, batch_seq(transaction, batch.id));
  std::string contents;
  {
    TRY(Statement statement,
        transaction.prepare("SELECT result FROM batch_lines WHERE batch = ?1 AND state = "
                            "?2 ORDER BY number"));
    statement.bind(seq).bind(static_cast<std::int64_t>(state));
    while (true) {
      TRY(const bool row, statement.step());
      if (!row) break;
      contents += statement.text(0) + "\n";
    }
  }
  if (contents.empty()) return std::string();
  TRY_OK(insert_file(transaction, file, contents));
  return std::move(file.id);
}

}  // namespace

std::string_view name_of(BatchStatus status) {
  static constexpr std::array<std::string_view, kBatchStatuses.size()> kNames = {
      "validating", "in_progress", "finalizing", "completed", "failed", "cancelling", "cancelled"};
  return kNames[static_cast<std::size_t>(status)];
}

Status SqliteBatches::add(const Batch& batch) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  {
    TRY(Statement statement,
        transaction.prepare(
            "INSERT INTO batches (owner, " BATCH_COLUMNS
            ") VALUES (0, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, 0, 0, 0, 0, 0, 0, '', '', 0, 0, 0)"));
    TRY_OK(statement.bind(batch.id)
               .bind(batch.tenant)
               .bind(batch.input_file_id)
               .bind(batch.endpoint)
               .bind(batch.completion_window)
               .bind(batch.metadata)
               .bind(batch.errors)
               .bind(static_cast<std::int64_t>(BatchStatus::validating))
               .bind(batch.created_ms)
               .run());
  }
  return transaction.commit();
}

Result<Batch> SqliteBatches::find(const Key& key) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  return find_batch(transaction, key);
}

Result<Page<Batch>> SqliteBatches::list(const std::string& tenant, const PageQuery& query) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  TRY(const Scan scan,
      make_scan(transaction, "SELECT seq FROM batches WHERE tenant = ?1 AND id = ?2", tenant, query));
  TRY(Statement statement,
      transaction.prepare(scan.order == Order::ascending
                              ? "SELECT seq FROM batches WHERE tenant = ?1 AND seq > ?2 AND seq < ?3 "
                                "ORDER BY seq LIMIT ?4"
                              : "SELECT seq FROM batches WHERE tenant = ?1 AND seq > ?2 AND seq < ?3 "
                                "ORDER BY seq DESC LIMIT ?4"));
  statement.bind(tenant);
  return read_page<Batch>(transaction, statement, scan,
                          "SELECT " BATCH_COLUMNS " FROM batches WHERE seq = ?1", read_batch);
}

Result<std::optional<Batch>> SqliteBatches::claim() {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  TRY_OK(owner_.bury_dead(transaction));
  std::optional<Batch> batch;
  {
    TRY(Statement statement,
        transaction.prepare("SELECT " BATCH_COLUMNS
                            " FROM batches WHERE owner = 0 AND status IN (?1, ?2, ?3, ?4) "
                            "ORDER BY seq LIMIT 1"));
    for (const BatchStatus open : {BatchStatus::validating, BatchStatus::in_progress, BatchStatus::finalizing,
                                   BatchStatus::cancelling})
      statement.bind(static_cast<std::int64_t>(open));
    TRY(const bool there, statement.step());
    if (there) batch = read_batch(statement);
  }
  if (!batch) return batch;
  {
    TRY(Statement statement, transaction.prepare("UPDATE batches SET owner = ?1 WHERE id = ?2"));
    TRY_OK(statement.bind(owner_.number()).bind(batch->id).run());
  }
  TRY_OK(transaction.commit());
  return batch;
}

Result<Batch> SqliteBatches::advance(const Key& key, const std::vector<BatchStatus>& from, BatchStatus to,
                                     std::int64_t now_ms) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  TRY(Batch batch, find_batch(transaction, key));
  if (std::find(from.begin(), from.end(), batch.status) == from.end())
    return Error{.code = ErrorCode::conflict,
                 .message = fmt::format("the batch is {}", name_of(batch.status)),
                 .reason = "batch_is_over"};
  enter(batch, to, now_ms);
  TRY_OK(update_batch(transaction, batch));
  TRY_OK(transaction.commit());
  return batch;
}

Status SqliteBatches::fail(const Key& key, const std::string& errors, std::int64_t now_ms) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  TRY(Batch batch, find_batch(transaction, key));
  batch.errors = errors;
  enter(batch, BatchStatus::failed, now_ms);
  TRY_OK(drop_lines(transaction, batch.id));
  TRY_OK(update_batch(transaction, batch));
  return transaction.commit();
}

Status SqliteBatches::begin(const Key& key, const std::vector<BatchLine>& lines, std::int64_t now_ms) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  TRY(Batch batch, find_batch(transaction, key));
  if (batch.status != BatchStatus::validating) return base::ok();  // cancelled meanwhile
  TRY(const std::int64_t seq, batch_seq(transaction, batch.id));
  for (const BatchLine& line : lines) {
    TRY(Statement statement, transaction.prepare("INSERT INTO batch_lines (batch, number, custom_id, body, "
                                                 "result, state) VALUES (?1, ?2, ?3, ?4, '', ?5)"));
    TRY_OK(statement.bind(seq)
               .bind(line.number)
               .bind(line.custom_id)
               .bind(line.body)
               .bind(static_cast<std::int64_t>(LineState::open))
               .run());
  }
  batch.num_lines = static_cast<std::int64_t>(lines.size());
  enter(batch, BatchStatus::in_progress, now_ms);
  TRY_OK(update_batch(transaction, batch));
  return transaction.commit();
}

Result<std::vector<BatchLine>> SqliteBatches::open_lines(const std::string& batch_id, std::int64_t after,
                                                         int limit) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::read));
  TRY(const std::int64_t seq, batch_seq(transaction, batch_id));
  TRY(Statement statement,
      transaction.prepare("SELECT number, custom_id, body FROM batch_lines WHERE batch = ?1 "
                          "AND number > ?2 AND state = ?3 ORDER BY number LIMIT ?4"));
  statement.bind(seq).bind(after).bind(static_cast<std::int64_t>(LineState::open)).bind(std::int64_t{limit});
  std::vector<BatchLine> lines;
  while (true) {
    TRY(const bool row, statement.step());
    if (!row) return lines;
    lines.push_back({statement.integer(0), statement.text(1), statement.text(2)});
  }
}

Status SqliteBatches::finish_line(const std::string& batch_id, const LineOutcome& outcome) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  TRY(const std::int64_t seq, batch_seq(transaction, batch_id));
  const LineState state = outcome.failed ? LineState::failed : LineState::completed;
  {
    TRY(Statement statement,
        transaction.prepare("UPDATE batch_lines SET result = ?1, state = ?2 WHERE batch = ?3 "
                            "AND number = ?4 AND state = 0"));
    TRY_OK(statement.bind(outcome.result)
               .bind(static_cast<std::int64_t>(state))
               .bind(seq)
               .bind(outcome.number)
               .run());
  }
  if (transaction.num_changes() == 0) return base::ok();
  {
    TRY(Statement statement, transaction.prepare("UPDATE batches SET num_completed = num_completed + ?1, "
                                                 "num_failed = num_failed + ?2 WHERE seq = ?3"));
    TRY_OK(statement.bind(std::int64_t{outcome.failed ? 0 : 1})
               .bind(std::int64_t{outcome.failed ? 1 : 0})
               .bind(seq)
               .run());
  }
  return transaction.commit();
}

Result<Batch> SqliteBatches::finish(const Key& key, const Ending& ending) {
  TRY(Transaction transaction, Transaction::begin(database_, Access::write));
  TRY(Batch batch, find_batch(transaction, key));
  File file{.tenant = batch.tenant, .purpose = "batch_output", .created_ms = ending.now_ms};
  file.id = ending.output_file_id;
  file.name = batch.id + "_output.jsonl";
  TRY(batch.output_file_id, make_file(transaction, batch, LineState::completed, file));
  file.id = ending.error_file_id;
  file.name = batch.id + "_error.jsonl";
  TRY(batch.error_file_id, make_file(transaction, batch, LineState::failed, file));
  enter(batch, ending.status, ending.now_ms);
  TRY_OK(drop_lines(transaction, batch.id));
  TRY_OK(update_batch(transaction, batch));
  TRY_OK(transaction.commit());
  return batch;
}

}  // namespace kvasir::store

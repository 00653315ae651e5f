#include "store/sqlite_schema.h"

namespace kvasir::store {

namespace {

// `seq` is the order of creation. AUTOINCREMENT keeps it growing even after deletions.
constexpr const char* kMigrations[] = {
    R"sql(
CREATE TABLE owners (
  number INTEGER PRIMARY KEY AUTOINCREMENT
) STRICT;

CREATE TABLE conversations (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  title TEXT NOT NULL,
  model TEXT NOT NULL,
  system_prompt TEXT NOT NULL,
  settings TEXT NOT NULL,
  metadata TEXT NOT NULL,
  active_leaf TEXT NOT NULL
) STRICT;
CREATE INDEX conversations_of_tenant ON conversations (tenant, seq);

CREATE TABLE messages (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  conversation INTEGER NOT NULL REFERENCES conversations (seq) ON DELETE CASCADE,
  parent_id TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  status INTEGER NOT NULL,
  owner INTEGER NOT NULL,
  role TEXT NOT NULL,
  body TEXT NOT NULL,
  model TEXT NOT NULL,
  finish_reason TEXT NOT NULL,
  prompt_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cost REAL,
  first_token_ms REAL,
  total_ms REAL,
  context TEXT NOT NULL
) STRICT;
CREATE INDEX messages_of_conversation ON messages (conversation, seq);
CREATE INDEX messages_in_progress ON messages (owner) WHERE owner <> 0;

CREATE TABLE answers (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  kind TEXT NOT NULL,
  previous_id TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  input TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX answers_of_tenant ON answers (tenant, kind, seq);
CREATE INDEX answers_by_expiry ON answers (expires_ms) WHERE expires_ms <> 0;

CREATE TABLE summaries (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL UNIQUE,
  text TEXT NOT NULL,
  created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE files (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  purpose TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  num_bytes INTEGER NOT NULL
) STRICT;
CREATE INDEX files_of_tenant ON files (tenant, seq);

CREATE TABLE file_contents (
  file INTEGER PRIMARY KEY REFERENCES files (seq) ON DELETE CASCADE,
  bytes BLOB NOT NULL
) STRICT;

CREATE TABLE batches (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  owner INTEGER NOT NULL,
  input_file_id TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  completion_window TEXT NOT NULL,
  metadata TEXT NOT NULL,
  errors TEXT NOT NULL,
  status INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  validating_ms INTEGER NOT NULL,
  in_progress_ms INTEGER NOT NULL,
  finalizing_ms INTEGER NOT NULL,
  completed_ms INTEGER NOT NULL,
  failed_ms INTEGER NOT NULL,
  cancelling_ms INTEGER NOT NULL,
  cancelled_ms INTEGER NOT NULL,
  output_file_id TEXT NOT NULL,
  error_file_id TEXT NOT NULL,
  num_lines INTEGER NOT NULL,
  num_completed INTEGER NOT NULL,
  num_failed INTEGER NOT NULL
) STRICT;
CREATE INDEX batches_of_tenant ON batches (tenant, seq);

CREATE TABLE batch_lines (
  batch INTEGER NOT NULL REFERENCES batches (seq) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  custom_id TEXT NOT NULL,
  body TEXT NOT NULL,
  result TEXT NOT NULL,
  state INTEGER NOT NULL,
  PRIMARY KEY (batch, number)
) STRICT, WITHOUT ROWID;
)sql",
    // Files are stored in pieces, which are read one at a time.
    R"sql(
CREATE TABLE file_pieces (
  seq INTEGER PRIMARY KEY,
  file INTEGER NOT NULL REFERENCES files (seq) ON DELETE CASCADE,
  number INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  UNIQUE (file, number)
) STRICT;

WITH RECURSIVE cuts (file, number, size) AS (
  SELECT file, 0, length(bytes) FROM file_contents WHERE length(bytes) > 0
  UNION ALL SELECT file, number + 1, size FROM cuts WHERE (number + 1) * 131072 < size
)
INSERT INTO file_pieces (file, number, bytes)
  SELECT cuts.file, number, substr(bytes, number * 131072 + 1, 131072)
  FROM cuts JOIN file_contents ON file_contents.file = cuts.file;

DROP TABLE file_contents;
)sql",
    // Tenants and keys. `accounts` has one row; its version grows with each change of tenants or keys.
    R"sql(
CREATE TABLE accounts (
  version INTEGER NOT NULL
) STRICT;
INSERT INTO accounts VALUES (1);

CREATE TABLE tenants (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  tier TEXT NOT NULL,
  system_prompt TEXT NOT NULL,
  created_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE api_keys (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL REFERENCES tenants (id),
  name TEXT NOT NULL,
  scope INTEGER NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  hint TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  revoked_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX api_keys_of_tenant ON api_keys (tenant, seq);
)sql",
    // Totals of usage by day, and the position up to which each log is folded into them.
    R"sql(
CREATE TABLE usage_totals (
  tenant TEXT NOT NULL,
  day INTEGER NOT NULL,
  key TEXT NOT NULL,
  model TEXT NOT NULL,
  currency TEXT NOT NULL,
  num_requests INTEGER NOT NULL,
  num_cancelled INTEGER NOT NULL,
  num_failed INTEGER NOT NULL,
  prompt_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL,
  cost_nano INTEGER NOT NULL,
  PRIMARY KEY (tenant, day, key, model, currency)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage_logs (
  log TEXT PRIMARY KEY,
  position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
)sql",
    // Answers that a process is working on.
    R"sql(
ALTER TABLE answers ADD COLUMN state INTEGER NOT NULL DEFAULT 0;
ALTER TABLE answers ADD COLUMN owner INTEGER NOT NULL DEFAULT 0;
CREATE INDEX answers_in_progress ON answers (owner) WHERE owner <> 0;
)sql",
};

}  // namespace

std::span<const char* const> migrations() {
  return kMigrations;
}

}  // namespace kvasir::store

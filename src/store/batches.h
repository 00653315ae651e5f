#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/page.h"

namespace kvasir::store {

enum class BatchStatus : std::uint8_t {
  validating,
  in_progress,
  finalizing,
  completed,
  failed,
  cancelling,
  cancelled
};
inline constexpr std::array kBatchStatuses = {
    BatchStatus::validating, BatchStatus::in_progress, BatchStatus::finalizing, BatchStatus::completed,
    BatchStatus::failed,     BatchStatus::cancelling,  BatchStatus::cancelled};
std::string_view name_of(BatchStatus status);

struct Batch {
  std::string id;
  std::string tenant;
  std::string input_file_id;
  std::string endpoint;
  std::string completion_window;
  std::string metadata = "{}";  // JSON object
  std::string errors = "[]";    // JSON array of the reasons for a failure
  BatchStatus status = BatchStatus::validating;
  std::int64_t created_ms = 0;
  // When the batch entered each status; 0: not yet.
  std::array<std::int64_t, kBatchStatuses.size()> entered_ms = {};
  std::string output_file_id;
  std::string error_file_id;
  std::int64_t num_lines = 0;
  std::int64_t num_completed = 0;
  std::int64_t num_failed = 0;
};

struct BatchLine {
  std::int64_t number = 0;  // from 1
  std::string custom_id;
  std::string body;  // JSON of the request
};

struct LineOutcome {
  std::int64_t number = 0;
  std::string result;  // JSON: the line of the output or error file
  bool failed = false;
};

// Batches of many requests. The outcome of a line is stored once; it is durable when the call returns, and
// the line is not run again. Calls block and are thread-safe.
class Batches {
 public:
  virtual ~Batches() = default;

  virtual base::Status add(const Batch& batch) = 0;
  virtual base::Result<Batch> find(const Key& key) = 0;
  virtual base::Result<Page<Batch>> list(const std::string& tenant, const PageQuery& query) = 0;

  // Claims the oldest unfinished batch that no living process works on.
  virtual base::Result<std::optional<Batch>> claim() = 0;
  // conflict: the batch has none of the statuses in `from`.
  virtual base::Result<Batch> advance(const Key& key, const std::vector<BatchStatus>& from, BatchStatus to,
                                      std::int64_t now_ms) = 0;
  virtual base::Status fail(const Key& key, const std::string& errors, std::int64_t now_ms) = 0;
  // Stores the lines of the input and sets the status `in_progress`, in one transaction.
  virtual base::Status begin(const Key& key, const std::vector<BatchLine>& lines, std::int64_t now_ms) = 0;
  // Up to `limit` lines after number `after` that have no outcome.
  virtual base::Result<std::vector<BatchLine>> open_lines(const std::string& batch_id, std::int64_t after,
                                                          int limit) = 0;
  // If the line already has an outcome, that one stays.
  virtual base::Status finish_line(const std::string& batch_id, const LineOutcome& outcome) = 0;
  struct Ending {
    BatchStatus status = BatchStatus::completed;
    std::string output_file_id;
    std::string error_file_id;
    std::int64_t now_ms = 0;
  };
  // Writes the output and error files (each only if it has lines) and deletes the lines, in one transaction.
  virtual base::Result<Batch> finish(const Key& key, const Ending& ending) = 0;
};

}  // namespace kvasir::store

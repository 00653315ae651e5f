#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/workload.h"

namespace kvasir::bench {

// One line of a JSONL trace. Its time is `timestamp` (milliseconds, as in Mooncake's traces) or `arrival_s`.
// Its prompt is `messages` or `prompt` as in the API, or made-up text of `input_length` (or `input_tokens`)
// tokens. With `hash_ids`, this text consists of blocks of 512 tokens, one for each hash, so that requests
// share prefixes as the original ones did. The length of the answer is `output_length`, `output_tokens` or
// `max_tokens`.
struct TraceEntry {
  std::optional<double> arrival_s;
  std::vector<Message> messages;
  int input_tokens = 0;
  int output_tokens = 64;
  std::vector<std::int64_t> hash_ids;
};

// Errors name the line. Blank lines are skipped. Times must not decrease; all are shifted so that the first
// is 0.
base::Result<std::vector<TraceEntry>> parse_trace(std::string_view text);
base::Result<std::vector<TraceEntry>> read_trace(const std::string& path);

// The same seed gives the same text. The made-up texts of two entries differ from the first word on, unless
// their hashes are equal.
Conversation conversation_of(const TraceEntry& entry, const TokenScale& scale, std::uint64_t seed,
                             std::uint64_t index);

}  // namespace kvasir::bench

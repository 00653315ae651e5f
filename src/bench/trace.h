#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/workload.h"

namespace kvasir::bench {

// One line of a JSONL trace. When: `timestamp` (milliseconds, as Mooncake's traces have it) or `arrival_s`.
// What: `messages` or `prompt` as the API has them, else as many made-up tokens as `input_length` (or
// `input_tokens`) says; with `hash_ids` they are made of blocks of 512 tokens, one a hash, so that requests
// share prefixes as they did. How much: `output_length`, `output_tokens` or `max_tokens`.
struct TraceEntry {
  std::optional<double> arrival_s;
  std::vector<Message> messages;
  int input_tokens = 0;
  int output_tokens = 64;
  std::vector<std::int64_t> hash_ids;
};

// Errors name the line. Blank lines are passed over; times must not go back; arrivals are moved so that the
// first is at 0.
base::Result<std::vector<TraceEntry>> parse_trace(std::string_view text);
base::Result<std::vector<TraceEntry>> read_trace(const std::string& path);

// The same for the same seed; entries without text of their own differ from one another from the first word
// on, except where their hashes agree.
Conversation conversation_of(const TraceEntry& entry, const TokenScale& scale, std::uint64_t seed,
                             std::uint64_t index);

}  // namespace kvasir::bench

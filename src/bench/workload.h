#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/prompt_text.h"

namespace kvasir::bench {

struct Message {
  std::string role;  // "system", "user" or "assistant"
  std::string content;
};

// One message of a user, and the length of the answer.
struct Turn {
  std::string text;
  int output_tokens = 0;
};

// One user. Each turn follows the answer to the previous one.
struct Conversation {
  std::vector<Message> opening;  // comes before the first turn
  std::vector<Turn> turns;
};

enum class WorkloadKind {
  chat,           // one question each, with nothing in common
  shared_prefix,  // questions with the same long system message
  multi_turn,     // conversations that get longer
  long_prompt,    // chats, with a long document from time to time
  mixed,          // one question each, with lognormal lengths, like those of people
  burst,          // like mixed, but in an open loop many arrive at the same time
  prefix,         // like mixed, with shared system messages
  long_one,       // like mixed, with one long prompt
};

base::Result<WorkloadKind> parse_workload(std::string_view name);
std::string_view name_of(WorkloadKind kind);

struct WorkloadOptions {
  WorkloadKind kind = WorkloadKind::chat;
  int input_tokens = 200;
  int output_tokens = 64;
  double vary = 0;          // lengths vary uniformly by this part around those above
  double spread = 0.8;      // mixed etc.: deviation of the logarithm of lengths; those above are medians
  int burst = 16;           // burst: requests that arrive together
  int prefix_tokens = 512;  // shared_prefix, prefix
  int prefix_groups = 1;    // shared_prefix, prefix: number of different system messages
  int turns = 4;            // multi_turn
  int long_tokens = 2048;   // long_prompt, long_one: length of the long prompts
  int long_every = 8;       // long_prompt: one in so many; long_one: only the first
  std::uint64_t seed = 0;
};

// The lengths of one question of a workload.
struct QuestionShape {
  int input_tokens = 0;  // without the system message
  int output_tokens = 0;
  std::optional<std::uint64_t> prefix_group;  // which system message, if there is one
};

// The question of conversation `index` in phase `phase`, for workloads with one question each.
QuestionShape question_shape(const WorkloadOptions& options, int phase, std::uint64_t index);

// Conversation number `index` of phase number `phase`. The same arguments give the same text. No two
// conversations of any phases begin alike, unless the workload shares prefixes, which it does only within a
// phase: what one phase leaves in a server's cache does not help the next.
Conversation make_conversation(const WorkloadOptions& options, const TokenScale& scale, int phase,
                               std::uint64_t index);

}  // namespace kvasir::bench

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

// What one user says, and how long each answer is to be.
struct Turn {
  std::string text;
  int output_tokens = 0;
};

// One user: the turns follow one another, each after the answer to the one before.
struct Conversation {
  std::vector<Message> opening;  // stands before the first turn
  std::vector<Turn> turns;
};

enum class WorkloadKind {
  chat,           // one question each, nothing in common
  shared_prefix,  // questions under the same long system message
  multi_turn,     // conversations that grow
  long_prompt,    // chats, and now and then a long document among them
  mixed,          // one question each, of lengths that differ as people's do: lognormal
  burst,          // the same, and in an open loop many arrive at the same time
  prefix,         // the same, under shared system messages
  long_one,       // the same, and one long prompt among them
};

base::Result<WorkloadKind> parse_workload(std::string_view name);
std::string_view name_of(WorkloadKind kind);

struct WorkloadOptions {
  WorkloadKind kind = WorkloadKind::chat;
  int input_tokens = 200;
  int output_tokens = 64;
  double vary = 0;          // lengths uniform within this share around the ones above
  double spread = 0.8;      // mixed and its kin: of the logarithm of lengths; the ones above are the medians
  int burst = 16;           // burst: requests that arrive together
  int prefix_tokens = 512;  // shared_prefix, prefix
  int prefix_groups = 1;    // shared_prefix, prefix: so many different system messages
  int turns = 4;            // multi_turn
  int long_tokens = 2048;   // long_prompt, long_one: of the long ones
  int long_every = 8;       // long_prompt: one in so many; long_one: the first is the only one
  std::uint64_t seed = 0;
};

// One question of a workload, by its lengths alone.
struct QuestionShape {
  int input_tokens = 0;  // without the system message
  int output_tokens = 0;
  std::optional<std::uint64_t> prefix_group;  // of the system message, where there is one
};

// Of conversation number `index` of the phase number `phase`, for workloads that ask one question each.
QuestionShape question_shape(const WorkloadOptions& options, int phase, std::uint64_t index);

// The conversation number `index` of the phase number `phase`. The same arguments give the same text; no two
// conversations of any phases begin alike, except where the workload shares prefixes, which it does within a
// phase only: what one phase has left in a server's cache does not help the next.
Conversation make_conversation(const WorkloadOptions& options, const TokenScale& scale, int phase,
                               std::uint64_t index);

}  // namespace kvasir::bench

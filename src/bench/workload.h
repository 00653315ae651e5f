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

// One user's conversation. Each turn follows the answer to the turn before.
struct Conversation {
  std::vector<Message> opening;  // messages before the first turn
  std::vector<Turn> turns;
};

enum class WorkloadKind {
  chat,           // single questions with nothing in common
  shared_prefix,  // single questions with the same long system message
  multi_turn,     // conversations that get longer
  long_prompt,    // like chat, with a long document from time to time
  mixed,          // single questions with lognormal lengths, as people's questions have
  burst,          // like mixed, but in an open loop many questions arrive at once
  prefix,         // like mixed, with shared system messages
  long_one,       // like mixed, with one long prompt
};

base::Result<WorkloadKind> parse_workload(std::string_view name);
std::string_view name_of(WorkloadKind kind);

struct WorkloadOptions {
  WorkloadKind kind = WorkloadKind::chat;
  int input_tokens = 200;
  int output_tokens = 64;
  double vary = 0;          // the part by which lengths vary uniformly around those above
  double spread = 0.8;      // mixed etc.: deviation of the lengths' logarithm; those above are medians
  int burst = 16;           // burst: requests that arrive together
  int prefix_tokens = 512;  // shared_prefix, prefix
  int prefix_groups = 1;    // shared_prefix, prefix: number of different system messages
  int turns = 4;            // multi_turn
  int long_tokens = 2048;   // long_prompt, long_one: length of the long prompts
  int long_every = 8;       // long_prompt: every long_every-th is long; long_one: only that one
  std::uint64_t seed = 0;
};

// The lengths of one question of a workload.
struct QuestionShape {
  int input_tokens = 0;  // without the system message
  int output_tokens = 0;
  std::optional<std::uint64_t> prefix_group;  // which system message, if there is one
};

// Returns the shape of conversation `index` in phase `phase`, for workloads of single questions.
QuestionShape question_shape(const WorkloadOptions& options, int phase, std::uint64_t index);

// Makes conversation number `index` of phase number `phase`. The same arguments give the same text. No two
// conversations of any phases begin alike, unless the workload shares prefixes. Prefixes are shared only
// within a phase, so that a server's cache from one phase does not help the next.
Conversation make_conversation(const WorkloadOptions& options, const TokenScale& scale, int phase,
                               std::uint64_t index);

}  // namespace kvasir::bench

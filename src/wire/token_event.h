#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace kvasir::wire {

struct TokenLogprob {
  float logprob = 0;
  std::vector<std::pair<TokenId, float>> top;  // most likely first
};

struct Token {
  TokenId id = 0;
  std::optional<TokenLogprob> logprob;  // set if the request asked for it
};

enum class FinishReason { stop, length };

// The cost of a sequence so far, and how long it waited. Times are elapsed real time.
struct Usage {
  int prompt_tokens = 0;
  int cached_tokens = 0;  // prompt tokens found in the prefix cache
  int output_tokens = 0;
  int num_preemptions = 0;
  int num_moves = 0;     // moves to another worker after a worker was lost
  double queued_s = 0;   // from its arrival at the engine to the step with its first row
  double prefill_s = 0;  // from then to the end of the step with its first token
  double charge = 0;     // tokens charged to its tenant by fair sharing, divided by the tenant's weight
};

// One step, or several in a row, that computed part of a prompt. Times are seconds of the worker's monotonic
// clock.
struct PrefillChunk {
  std::int64_t step = 0;  // the number of the first step
  int num_steps = 1;
  int num_tokens = 0;
  double began_s = 0;
  double ended_s = 0;
};

// The result of one step for one sequence. A stop token that ended the sequence is counted in `usage`, but is
// not in `tokens`.
struct TokenEvent {
  std::vector<Token> tokens;
  // The prompt's tokens from the second on, in the first event, if the request asked for their logprobs.
  std::vector<Token> prompt = {};
  std::optional<FinishReason> finish;  // set on the last event of a sequence that ended normally
  std::optional<base::Error> error;    // set on the last event of a sequence that failed
  Usage usage;  // up to this event, since a stop string may end the sequence at any event
  // How the prompt was computed since the previous event. Set in the first event, and after a preemption.
  std::vector<PrefillChunk> prefill = {};

  bool last() const { return finish.has_value() || error.has_value(); }
};

}  // namespace kvasir::wire

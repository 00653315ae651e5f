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
  std::optional<TokenLogprob> logprob;  // where the request asked for it
};

enum class FinishReason { stop, length };

// The cost of a sequence so far, and how long it waited. Times are those of a clock on the wall.
struct Usage {
  int prompt_tokens = 0;
  int cached_tokens = 0;  // of the prompt, found in the prefix cache
  int output_tokens = 0;
  int num_preemptions = 0;
  int num_moves = 0;     // to another worker, since one was lost
  double queued_s = 0;   // from its arrival at the engine to the step with its first row
  double prefill_s = 0;  // from then to the end of the step with its first token
  double charge = 0;     // tokens that its tenant was charged for in the fair share, over the tenant's weight
};

// A step, or several in a row, that computed a part of a prompt. Times are seconds of the worker's monotonic
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
  // The prompt's tokens from the second on: in the first event, if the request asked for their logprobs.
  std::vector<Token> prompt = {};
  std::optional<FinishReason> finish;  // set on the last event of a sequence that ended well
  std::optional<base::Error> error;    // set on the last event of one that did not
  Usage usage;                         // as of this event, since a stop string may end the sequence at any
  // How the prompt was computed since the event before: in the first one, and after a preemption.
  std::vector<PrefillChunk> prefill = {};

  bool last() const { return finish.has_value() || error.has_value(); }
};

}  // namespace kvasir::wire

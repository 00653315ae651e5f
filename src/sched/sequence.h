#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "grammar/matcher.h"
#include "kv/block_table.h"
#include "wire/generate_request.h"
#include "wire/token_event.h"

namespace kvasir::sched {

// Given out in the order of arrival.
using SequenceId = std::uint64_t;

// One request on its way: `num_computed` catches up with `tokens`, which grows when it does.
// Owned by the Scheduler.
struct Sequence {
  SequenceId id = 0;
  wire::GenerateRequest request;              // its prompt was moved into `tokens`
  std::vector<TokenId> tokens;                // prompt, then output
  std::unique_ptr<grammar::Matcher> matcher;  // after the output; null: any token may come
  int num_prompt = 0;
  int num_computed = 0;   // tokens whose keys and values are in `blocks`, or will be when the steps begun end
  int num_in_flight = 0;  // tokens after `tokens` that steps begun will give it
  kv::BlockChain chain{""};
  kv::BlockTable blocks;
  bool held = false;     // its reader is behind: left out of plans, first to be preempted
  double arrived_s = 0;  // on the clock that counts the time of steps
  int num_cached = -1;   // of the prompt, found in the prefix cache; -1 before the first step
  int num_preemptions = 0;
  std::int64_t last_step = 0;             // the number of the last step begun that has rows of it
  std::vector<wire::Token> prompt_lines;  // with logprobs, from the second token on; until they are sent

  // Those in flight count: they are there before a step that is planned now runs.
  int num_tokens() const { return static_cast<int>(tokens.size()) + num_in_flight; }
  int num_pending() const { return num_tokens() - num_computed; }
  int num_output() const { return static_cast<int>(tokens.size()) - num_prompt; }
  // What is in flight is the last that it may get.
  bool is_complete() const { return num_tokens() - num_prompt >= request.max_tokens; }
  // Its next rows are wanted for more than their keys and values.
  bool wants_prompt_lines() const {
    return request.num_prompt_logprobs && num_output() == 0 &&
           static_cast<int>(prompt_lines.size()) + 1 < num_prompt;
  }
  // The most tokens that will ever be in its blocks: the last output is never fed back.
  int capacity() const { return num_prompt + request.max_tokens - 1; }
};

// Who goes first, and who is preempted last.
struct ByRank {
  bool operator()(const Sequence* a, const Sequence* b) const {
    if (a->request.priority != b->request.priority) return a->request.priority > b->request.priority;
    return a->id < b->id;
  }
};

}  // namespace kvasir::sched

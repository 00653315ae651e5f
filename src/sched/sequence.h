#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "grammar/matcher.h"
#include "kv/block_table.h"
#include "sched/prefill_log.h"
#include "sched/shares.h"
#include "wire/generate_request.h"
#include "wire/token_event.h"

namespace kvasir::sched {

// Ids ascend in the order of arrival.
using SequenceId = std::uint64_t;

// One request in the engine. `num_computed` catches up with the length of `tokens`, which then grows. Owned
// by the Scheduler.
struct Sequence {
  SequenceId id = 0;
  wire::GenerateRequest request;              // its prompt and resumed output were moved into `tokens`
  std::vector<TokenId> tokens;                // prompt, then output
  std::unique_ptr<grammar::Matcher> matcher;  // has accepted the output; null: any token is allowed
  std::vector<TokenId> unsent;                // forced output known on arrival; sent with the first new token
  int num_prompt = 0;
  int num_computed = 0;      // tokens whose keys and values are in `blocks`, or will be after the begun steps
  int num_to_compute = 0;    // tokens left to compute when it last began to wait
  int num_in_flight = 0;     // tokens that begun steps will add to `tokens`
  double arrived_s = 0;      // in seconds of step time, see SchedulerState::busy_s
  std::uint64_t tenant = 0;  // its account's hash, kept here since each step looks at hundreds of sequences
  kv::BlockChain chain{kv::CacheScope{}};
  kv::BlockTable blocks;
  RequestShare* share = nullptr;  // while it is alive
  int turn = 0;                   // its number among the sequences of its request
  double tag = 0;                 // estimate of what its tenant will have been charged when its turn comes
  int num_charged = 0;            // tokens that its tenant was charged for
  double charge = 0;              // what they cost, with cached ones at their price, over the tenant's weight
  bool runs = false;              // it is among the running ones, not the waiting ones
  bool held = false;              // its reader is behind: left out of plans, first to be preempted
  bool awaits = false;            // its blocks are on their way: left out of plans; never while it runs
  kv::BlockImages arrived;        // the blocks that came, until it is admitted
  int num_stored = 0;             // number of its first blocks that have gone to the request's outlet
  // For usage and the patience with arriving blocks, on the clock of Scheduler::set_now; below 0: not yet.
  double came_s = 0;
  double first_row_s = -1;
  double first_token_s = -1;
  int num_cached = -1;  // prompt tokens found in the prefix cache; -1 before the first step
  int num_preemptions = 0;
  std::int64_t last_step = 0;             // number of the last begun step that has rows of this sequence
  PrefillLog prefill;                     // for traces only
  std::vector<wire::Token> prompt_lines;  // prompt tokens with logprobs, from the second on; empty once sent

  // Includes tokens in flight: they will exist before a step that is planned now runs.
  int num_tokens() const { return static_cast<int>(tokens.size()) + num_in_flight; }
  int num_pending() const { return num_tokens() - num_computed; }
  int num_output() const { return static_cast<int>(tokens.size()) - num_prompt; }
  bool stands_still() const { return held || awaits; }
  // How many of the first blocks need no computing if `num_published` are in the cache, since further ones
  // may have arrived. Arrived blocks never cover the last token.
  int num_known_blocks(int num_published) const {
    const auto num = static_cast<std::size_t>(num_published);
    const std::size_t most = tokens.empty() ? 0 : (tokens.size() - 1) / kv::kBlockTokens;
    if (arrived.first > num) return num_published;
    return static_cast<int>(std::max(num, std::min(arrived.end(), most)));
  }
  // Whether the tokens in flight are the last that the sequence may get.
  bool is_complete() const { return num_tokens() - num_prompt >= request.max_tokens; }
  // Whether the next rows are needed for prompt logprobs too.
  bool wants_prompt_lines() const {
    return request.num_prompt_logprobs && num_output() == 0 &&
           static_cast<int>(prompt_lines.size()) + 1 < num_prompt;
  }
  // The most tokens that its blocks will ever hold. The last output token is never fed back.
  int capacity() const { return num_prompt + request.max_tokens - 1; }
};

// The first in rank goes first and is preempted last. The rank is fixed on arrival. For requests of one
// tenant with one answer each, it is the order of arrival.
struct ByRank {
  bool operator()(const Sequence* a, const Sequence* b) const {
    if (a->request.priority != b->request.priority) return a->request.priority > b->request.priority;
    if (a->tag != b->tag) return a->tag < b->tag;
    return a->id < b->id;
  }
};

}  // namespace kvasir::sched

#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "grammar/matcher.h"
#include "sched/sequence.h"
#include "sched/step_cost.h"
#include "wire/token_event.h"

namespace kvasir::sched {

// What the next step does. Its pointers and spans are into its Scheduler, and last until the next call of a
// method that changes it; those of blocks are into the plan itself, and last as long as it does.
struct StepPlan {
  struct Slice {
    SequenceId sequence = 0;
    const wire::GenerateRequest* request = nullptr;  // without its prompt
    std::span<const TokenId> known;                  // prompt, then output so far
    grammar::Matcher* matcher = nullptr;             // that the next token has to fit; null: any does
    int num_in_flight = 0;  // tokens after the known ones that the step before is about to give: 0 or 1
    int num_prompt = 0;
    int num_computed = 0;
    int num_rows = 0;  // [num_computed, num_computed + num_rows) of known and in flight are fed
    std::span<const kv::BlockId> blocks;  // covering num_computed + num_rows tokens
    int num_new_blocks = 0;               // the last ones of `blocks`, taken by this step
    bool wants_prompt_lines = false;      // see num_prompt_rows()
    bool admitted = false;                // the sequence leaves the queue; its older blocks are a prefix hit

    // Rows whose logits say how likely the prompt's next token was: the first ones of the slice.
    int num_prompt_rows() const {
      if (!wants_prompt_lines) return 0;
      return std::clamp(num_prompt - 1 - num_computed, 0, num_rows);
    }
    // The step reaches the end of what is known: the runner samples what comes next.
    bool wants_token() const { return num_computed + num_rows == num_tokens(); }
    int num_tokens() const { return static_cast<int>(known.size()) + num_in_flight; }
  };
  struct Copy {
    kv::BlockId from = kv::kNoBlock;
    kv::BlockId to = kv::kNoBlock;
  };

  std::vector<Slice> slices;
  std::unique_ptr<kv::BlockId[]> block_ids;  // of all slices, one after another
  std::vector<Copy> copies;                  // whole blocks, all before any slice runs
  std::vector<SequenceId> preempted;
  StepLoad load;
  double predicted_s = 0;
  bool has_lower = false;  // a class has work beside a higher one
  double lower_s = 0;      // of predicted_s, for that work

  bool empty() const { return slices.empty(); }
};

// What came of a plan.
struct StepResult {
  // A token where the slice wanted one; an error ends that sequence and no other.
  struct Outcome {
    std::optional<wire::Token> token;
    std::vector<wire::Token> prompt = {};  // one for each of the slice's num_prompt_rows()
    std::optional<base::Error> error;
  };
  std::vector<Outcome> outcomes;  // one for each slice, in order
  double seconds = 0;
};

// What a step gave one sequence.
struct SequenceEvent {
  SequenceId sequence = 0;
  wire::TokenEvent event;
};

}  // namespace kvasir::sched

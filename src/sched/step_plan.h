#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "grammar/matcher.h"
#include "kv/block_image.h"
#include "sched/sequence.h"
#include "sched/step_cost.h"
#include "wire/token_event.h"

namespace kvasir::sched {

// The next step. Its pointers and spans point into its Scheduler and are valid until the next call that
// changes the Scheduler. Spans of blocks point into the plan and live as long as it does.
struct StepPlan {
  struct Slice {
    SequenceId sequence = 0;
    const wire::GenerateRequest* request = nullptr;  // its prompt is in `known`
    std::span<const TokenId> known;                  // prompt, then output so far
    grammar::Matcher* matcher = nullptr;             // the next token must fit it; null: any token does
    int num_in_flight = 0;  // tokens after the known ones that the last step will produce: 0 or 1
    int num_prompt = 0;
    int num_computed = 0;
    int num_rows = 0;  // tokens [num_computed, num_computed + num_rows) are fed, known or in flight
    std::span<const kv::BlockId> blocks;  // covering num_computed + num_rows tokens
    int num_new_blocks = 0;               // the last ones of `blocks`, which this step takes
    bool wants_prompt_lines = false;      // see num_prompt_rows()
    int num_loaded = 0;                   // the first of the new blocks, which the plan loads
    bool admitted = false;                // the sequence leaves the queue; its old blocks are a prefix hit

    // Rows whose logits give the logprob of the next prompt token. They are the first rows of the slice.
    int num_prompt_rows() const {
      if (!wants_prompt_lines) return 0;
      return std::clamp(num_prompt - 1 - num_computed, 0, num_rows);
    }
    // Whether the step reaches the last token, so that the runner samples the next one.
    bool wants_token() const { return num_computed + num_rows == num_tokens(); }
    int num_tokens() const { return static_cast<int>(known.size()) + num_in_flight; }
  };
  struct Copy {
    kv::BlockId from = kv::kNoBlock;
    kv::BlockId to = kv::kNoBlock;
  };

  // A block that enters the device.
  struct Load {
    std::shared_ptr<const kv::BlockImage> from;
    kv::BlockId to = kv::kNoBlock;
  };
  // A full block that leaves the device.
  struct Store {
    std::size_t slice = 0;  // index of the slice whose sequence owns the block
    std::size_t index = 0;  // index of the block in its sequence
    kv::BlockId from = kv::kNoBlock;
    kv::BlockHash hash;
    std::shared_ptr<kv::BlockOutlet> to;
  };

  std::vector<Slice> slices;
  std::unique_ptr<kv::BlockId[]> block_ids;  // of all slices, one after another
  std::vector<Copy> copies;                  // whole blocks; all copies come before any slice
  std::vector<Load> loads;                   // before any slice, too
  std::vector<Store> stores;                 // after all slices
  std::vector<SequenceId> preempted;
  StepLoad load;
  double predicted_s = 0;
  bool has_lower = false;  // a class below the highest one has work
  double lower_s = 0;      // the part of predicted_s for that work

  bool empty() const { return slices.empty(); }
};

// The runner's results for a plan.
struct StepResult {
  // A token if the slice wanted one. An error ends only this sequence.
  struct Outcome {
    std::optional<wire::Token> token;
    std::vector<wire::Token> prompt = {};  // one for each of num_prompt_rows()
    std::optional<base::Error> error;
  };
  std::vector<Outcome> outcomes;            // one for each slice, in order
  std::vector<kv::BlockImage> stored = {};  // one for each store of the plan, in order
  double seconds = 0;
  double moved_s = 0;  // the part of `seconds` for loads and stores
};

// The event that a step produced for one sequence.
struct SequenceEvent {
  SequenceId sequence = 0;
  wire::TokenEvent event;
};

}  // namespace kvasir::sched

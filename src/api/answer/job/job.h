#pragma once

#include <memory>
#include <vector>

#include "api/answer/delta/choice.h"
#include "api/answer/job/context_report.h"
#include "router/model_text.h"
#include "wire/generate_request.h"

namespace kvasir::api {

// A request that is ready to run: its text has been tokenized. `admit` adds the caller's identity.
struct Job {
  router::ChatTextPtr text;
  std::vector<wire::GenerateRequest> sequences;  // choice i of prompt p is number p * num_sampled + i
  int base_priority = 0;                         // the tier's priority is added; batches have one below 0
  int num_sampled = 1;                           // answers sampled for each prompt
  int num_kept = 1;                              // how many of those are kept: the likeliest
  bool with_logprobs = false;                    // the answer reports logprobs
  std::uint64_t affinity = 0;                    // see GenerateParams
  bool is_private = false;                       // nobody may see its answers, not even to check them
  std::vector<std::shared_ptr<const EchoedPrompt>> echoes = {};  // one per prompt; empty if nothing is echoed
  Choice::Stops stops;
  AnswerReading reading = {};
  ContextReport context = {};
  std::vector<std::string> warnings = {};  // about what the output format does not enforce
};

}  // namespace kvasir::api

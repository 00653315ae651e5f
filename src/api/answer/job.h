#pragma once

#include <memory>
#include <vector>

#include "api/answer/choice.h"
#include "api/answer/context_report.h"
#include "router/model_text.h"
#include "wire/generate_request.h"

namespace kvasir::api {

// A request that is ready to run: its text has become tokens. Who asks for it is not in it yet.
struct Job {
  router::ChatTextPtr text;
  std::vector<wire::GenerateRequest> sequences;  // choice i of prompt p is number p * num_sampled + i
  int num_sampled = 1;                           // answers of a prompt
  int num_kept = 1;                              // of those, the likeliest
  bool with_logprobs = false;                    // the answer tells them
  std::vector<std::shared_ptr<const EchoedPrompt>> echoes = {};  // one a prompt; none: nothing is echoed
  Choice::Stops stops;
  AnswerReading reading = {};
  ContextReport context = {};
};

}  // namespace kvasir::api

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/answer/question/question.h"

namespace kvasir::api {

// A question in the form that an upstream takes.
struct UpstreamBody {
  std::string path;            // "/chat/completions"
  std::string fields;          // see upstream::Ask
  std::uint64_t affinity = 0;  // the request's own affinity, or else a hash of how its text begins
  int num_prompts = 1;
  int prompt_tokens = 0;                   // all prompts together; an estimate
  std::vector<std::string> warnings = {};  // about fields that an upstream may not know
};

// Writes a question as OpenAI's request for a stream. Refuses a question that needs the model's tokenizer.
// May take long, so it may run on any thread.
base::Result<UpstreamBody> write_upstream_body(const QuestionText& text);

}  // namespace kvasir::api
